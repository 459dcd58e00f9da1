"""Every Python process below `hotfix audit` imports this at its start: it runs the file of `hotfix run`.

A folder of its own, so that a process that keeps nothing but PYTHONPATH still knows that it is part of an audit.
"""

import os
import sys
from _frozen_importlib_external import SourceFileLoader

SourceFileLoader(
    __name__,
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "startup", "sitecustomize.py"),
).exec_module(sys.modules[__name__])
