"""The proof of each fix: the smallest run that shows its bug, under the name that the fix has among its neighbours.

``hotfix.proofs.models.some_bug`` belongs to ``hotfix.models.some_bug``. A process that uses a fix imports nothing from
here; `hotfix verify`, the tests and the matrix do. `testbed` is what a case is given, `zoo` has the small models.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Callable, Optional

from ..fix import Fix


def load(module: str, fix: Fix) -> Optional[Callable[..., Any]]:
    """The case of a fix, or None. That of one of ours is imported; a plugin declares it beside the cure.

    Args:
        module: the module that defines the fix.
        fix: the fix.
    """
    package, _, name = module.partition(".")
    if package == "hotfix" and fix.proof is None:
        wanted = f"{__name__}.{name}"
        try:
            import_module(wanted)
        except ModuleNotFoundError as error:
            if error.name is None or not wanted.startswith(error.name):
                raise
    return fix.proof
