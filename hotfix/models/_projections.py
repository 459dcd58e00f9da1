"""Whether a projection is computed by code that is known, or by a class or a function of the program's own."""

from __future__ import annotations

from typing import Any

from hotfix.patching import scope

_QUANTIZERS = frozenset(
    {"aqlm", "auto_gptq", "awq", "bitsandbytes", "eetq", "fbgemm_gpu", "gptqmodel", "hqq", "optimum", "quanto", "vptq"}
)


def is_known(fix: str, module: Any) -> bool:
    """Whether a projection is torch's, the library's, an adapter of PEFT or of a package that quantizes weights.

    Args:
        fix: id of the fix that asks.
        module: a ``torch.nn.Module``. A class or a forward of the user's may compute anything.
    """
    package = type(module).__module__.partition(".")[0]
    return scope.is_own(fix, module, "forward", package if package in _QUANTIZERS else "transformers")
