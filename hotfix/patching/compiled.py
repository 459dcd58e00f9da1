"""Graphs that ``torch.compile`` has made of functions before they were changed.

A graph keeps the body that was traced. What is changed before it is called is traced as it is now; a graph that was
made before has to be forgotten.
"""

from __future__ import annotations

import os
import sys
import types
from typing import Any, Optional


def forget_graphs() -> bool:
    """Have everything compiled anew, where something may have been compiled already. Returns whether that is so."""
    dynamo: Any = sys.modules.get("torch._dynamo")
    if dynamo is None or not hasattr(dynamo, "reset"):
        return False
    dynamo.reset()
    return True


def is_scripted(function: types.FunctionType) -> bool:
    """Whether ``torch.jit.script`` has compiled this function, or a module class that has it as a method.

    It compiles the text of the file, which an edit does not change.
    """
    state: Any = sys.modules.get("torch.jit._state")
    recursive: Any = sys.modules.get("torch.jit._recursive")
    ask = getattr(state, "_try_get_jit_cached_function", None)
    if ask is not None and ask(function) is not None:
        return True
    store = getattr(recursive, "concrete_type_store", None)
    classes = [getattr(one, "__mro__", ()) for one in getattr(store, "type_store", ())]
    return any(function in vars(kind).values() for mro in classes for kind in mro)


def stale_graphs() -> Optional[str]:
    """Why torch may run graphs of an earlier process, in which nothing was repaired, as a sentence; else None."""
    config: Any = sys.modules.get("torch._dynamo.config")
    asked = os.environ.get("TORCH_CACHING_PRECOMPILE") == "1"
    if asked or getattr(config, "caching_precompile", False):
        return (
            "TORCH_CACHING_PRECOMPILE is on: torch may take graphs of unrepaired functions from its cache. Unset it, "
            "or give this patch set a cache of its own (TORCHINDUCTOR_CACHE_DIR)."
        )
    return None
