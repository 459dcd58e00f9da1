"""Whether the kernels of flash-attn are its own, or functions that the program has put in their place."""

from __future__ import annotations

import re
import sys
from typing import Any

from hotfix.patching import scope

_FLASH_ATTN = re.compile(r"(vllm_)?flash_attn(_?[23])?(_interface)?(_[0-9a-f]+)?")
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
        functions: the module's attributes with the names of kernels; None is ignored.
    """
    for function in functions:
        # torch.compiler.disable and torch.compile call the same kernel from a function of torch.
        function = getattr(function, "_torchdynamo_orig_callable", function)
        # Not `__module__`, which functools.wraps copies.
        if function is not None and not _is_home(str(getattr(function, "__globals__", {}).get("__name__"))):
            return scope.leave_alone(fix, f"{getattr(function, '__qualname__', function)} is not flash-attn's")
    return True


@scope.settled
def _is_home(module: str) -> bool:
    """Whether a module is the library's or flash-attn's: as installed, or of the Hub, with a hash behind its name."""
    package = module.partition(".")[0]
    return package == "transformers" or _FLASH_ATTN.fullmatch(package) is not None


def are_own_in(fix: str, module: str) -> bool:
    """Whether all kernels that a module of the library calls are those of flash-attn or of the library.

    Args:
        fix: id of the fix that asks.
        module: its name; if it has no kernels yet, it will take those of flash-attn.
    """
    kernels = _of(module, _NAMES) or _of("flash_attn", _KINDS)
    return are_own(fix, *kernels)


def _of(module: str, names: tuple[str, ...]) -> list[Any]:
    loaded = sys.modules.get(module)  # not globals(), which torch.compile cannot trace
    return [getattr(loaded, name) for name in names if getattr(loaded, name, None) is not None]
