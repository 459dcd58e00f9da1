"""Whether a projection is computed by known code, or by a class, a function or a hook of the program's own."""

from __future__ import annotations

from typing import Any

from hotfix.models import _hooks
from hotfix.patching import scope

_QUANTIZERS = frozenset(
    {"aqlm", "auto_gptq", "awq", "bitsandbytes", "eetq", "fbgemm_gpu", "gptqmodel", "hqq", "optimum", "quanto", "vptq"}
)


def are_known(fix: str, *modules: Any) -> bool:
    """Whether projections are torch's, the library's, adapters of PEFT or of packages that quantize weights.

    Args:
        fix: id of the fix that asks.
        modules: objects of ``torch.nn.Module``. A class, a forward, a hook or a parametrization of the user's may
            compute anything.
    """
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if not (_is_known(fix, module) and _hooks.only_read(module, fix)):
            return False
        for name, part in module._modules.items():  # a container calls its parts
            if part is not None and name != "parametrizations":
                waiting.append(part)
    return True


def _is_known(fix: str, module: Any) -> bool:
    package = type(module).__module__.partition(".")[0]
    if not scope.is_own(fix, module, "forward", package if package in _QUANTIZERS else "transformers"):
        return False
    parametrized = module._modules.get("parametrizations")
    if parametrized is None:
        return True
    return all(scope.is_class_of(fix, step, "torch") for steps in parametrized.values() for step in steps)
