"""``import hotfix.auto``, the first import of a program, arms hotfix.

It reads one environment variable, inserts one finder in ``sys.meta_path`` and returns. With ``HOTFIX=0`` it does
nothing. See `hotfix.watch` for the watched modules and README.md for the switches.
"""

import os

if os.environ.get("HOTFIX") != "0":
    from . import watch

    watch.arm()
