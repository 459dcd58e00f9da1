"""What `hotfix audit` lets every Python process import at its start: the file of `hotfix run`, which sees where it is.

A folder of its own, so that a process that keeps nothing but PYTHONPATH still knows that it is part of an audit.
"""

import os
import sys
from _frozen_importlib_external import SourceFileLoader

SourceFileLoader(
    __name__,
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "startup", "sitecustomize.py"),
).exec_module(sys.modules[__name__])
