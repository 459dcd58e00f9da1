"""Whether the kernels of flash-attn are its own, or functions that the program has put in their place."""

from __future__ import annotations

import sys
from typing import Any

from hotfix.patching import scope

_KINDS = ("flash_attn_func", "flash_attn_varlen_func")
_NAMES = (
    *_KINDS,
    *(f"flash_attn_{version}_{kind}" for version in (2, 3) for kind in ("func", "varlen_func")),  # 4.53
    *("_flash_fn", "_flash_varlen_fn"),  # from 4.54.0 on, after the first call
)


def are_own(fix: str, *functions: Any) -> bool:
    """Whether functions are those of flash-attn or of the library.

    Args:
        fix: id of the fix that asks.
        functions: what a module has under the names of kernels; None is nobody's.
    """
    for function in functions:
        # Not `__module__`, which functools.wraps copies.
        home = str(getattr(function, "__globals__", {}).get("__name__")).partition(".")[0]
        # A kernel of the Hub has the hash of its file behind its name.
        if function is not None and home != "transformers" and not home.startswith(("flash_attn", "vllm_flash_attn")):
            return scope.leave_alone(fix, f"{getattr(function, '__qualname__', function)} is not flash-attn's")
    return True


def are_own_in(fix: str, module: str) -> bool:
    """The same for all kernels that a module of the library calls.

    Args:
        fix: id of the fix that asks.
        module: its name; if it has no kernels yet, it will take those of flash-attn.
    """
    found = _of(module, _NAMES) or _of("flash_attn", _KINDS)
    return are_own(fix, *found)


def _of(module: str, names: tuple[str, ...]) -> list[Any]:
    loaded = sys.modules.get(module)  # not globals(), which torch.compile cannot trace
    return [getattr(loaded, name) for name in names if getattr(loaded, name, None) is not None]
