"""Whether `torch.compile` traces a call, and functions whose results it takes as constants."""

from __future__ import annotations

import sys
from typing import Any, Callable, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def settled(function: _Function) -> _Function:
    """Mark a function whose result is a constant in a graph of ``torch.compile``.

    Its arguments must be names, classes or code. It is called while the graph is made, and is not traced: the state it
    reads and keeps would break the graph, or force a recompilation. ``torch.compiler.assume_constant_result`` sets the
    same attribute, but would import torch.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function


def is_compiling() -> bool:
    """Whether `torch.compile` traces this call: then no frame may be read."""
    if _torch_is_old():
        return _old_torch_traces()
    compiler: Any = sys.modules.get("torch.compiler")
    return compiler is not None and bool(compiler.is_compiling())


@settled
def _torch_is_old() -> bool:
    """Whether torch is older than 2.3, which cannot answer, and traces no access to `sys.modules`."""
    return "torch" in sys.modules and not hasattr(sys.modules.get("torch.compiler"), "is_compiling")


@settled
def _old_torch_traces() -> bool:
    context: Any = getattr(sys.modules.get("torch._guards"), "TracingContext", None)
    now = getattr(context, "try_get", None) or getattr(context, "get", None)  # 2.0 and 2.1 have the second one
    return now is not None and now() is not None
