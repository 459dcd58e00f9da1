"""The proof of each fix: the smallest run that shows its bug, under the name that the fix has among its neighbours.

``hotfix.proofs.models.some_bug`` belongs to ``hotfix.models.some_bug``. Proofs import torch. A process that uses a fix
imports nothing from here; `hotfix verify`, the tests and the matrix do. `testbed` is what a case is given; the small
models are in `zoo`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Callable, Optional

from ..fix import Fix


def exists(module: str, fix: Fix) -> bool:
    """Whether a fix has a case; the module of the case, which imports torch, is not imported.

    Args:
        module: the module that defines the fix.
        fix: the fix.
    """
    package, _, name = module.partition(".")
    if package != "hotfix" or fix.proof is not None:
        return fix.proof is not None
    try:
        return find_spec(f"{__name__}.{name}") is not None
    except ModuleNotFoundError:  # nor the package that it would be in
        return False


def load(module: str, fix: Fix) -> Optional[Callable[..., Any]]:
    """The case of a fix, or None. That of one of ours is imported; a plugin declares it next to the fix.

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
