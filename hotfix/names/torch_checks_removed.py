"""Two checks of torch and a table of its initializers are gone.

Symptom   ``ImportError: cannot import name 'is_torch_bf16_cpu_available' from 'transformers.utils'``,
          ``'is_torch_sdpa_available'`` from ``transformers.utils.import_utils``, or ``'TORCH_INIT_FUNCTIONS'`` from
          ``transformers.modeling_utils``.
Cause     Every supported torch passes the checks; initialization moved to a module of its own.
Releases  5.0.0 and later
Upstream  not put back
Here      The checks are true wherever torch is installed, as in 4.57.6. The table has the same names and torch's
          functions of today.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'is_torch_bf16_cpu_available' from 'transformers.utils'",
    kind="removed-api",
    group="removed-names",
)

V5 = ">=5.0.0"
CHECKS = "transformers.utils.import_utils"
OF_TODAY = ("uniform_", "normal_", "trunc_normal_", "constant_")
OF_BOTH = ("xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal")


@FIX.adds_made((f"{CHECKS}:is_torch_bf16_cpu_available", V5), exported_by=("transformers.utils",))
def is_torch_bf16_cpu_available(import_utils: Any) -> Callable[[], bool]:
    """Whether the CPU computes in bfloat16."""
    return _check("is_torch_bf16_cpu_available", import_utils)


@FIX.adds_made((f"{CHECKS}:is_torch_sdpa_available", V5), exported_by=("transformers.utils",))
def is_torch_sdpa_available(import_utils: Any) -> Callable[[], bool]:
    """Whether torch has scaled dot-product attention."""
    return _check("is_torch_sdpa_available", import_utils)


@FIX.adds_made(("transformers.modeling_utils:TORCH_INIT_FUNCTIONS", V5))
def torch_init_functions(modeling_utils: Any) -> dict[str, Callable[..., Any]]:
    """Torch's initializers, by name."""
    from torch.nn import init

    names = (*OF_TODAY, *(f"{name}_" for name in OF_BOTH), "uniform", "normal", *OF_BOTH)
    return {name: getattr(init, name) for name in names}


def _check(name: str, import_utils: Any) -> Callable[[], bool]:
    def check() -> bool:
        return bool(import_utils.is_torch_available())

    check.__name__ = check.__qualname__ = name
    check.__module__ = CHECKS
    return check
