"""``is_torch_fx_available`` is gone from ``transformers.utils``.

Symptom   ``ImportError: cannot import name 'is_torch_fx_available' from 'transformers.utils.import_utils'`` from remote
          code of DeepSeek-V2 and V3, Kimi and MiniCPM.
Cause     The function was removed.
Releases  5.0.0 and later
Upstream  transformers#44561, transformers#44615 (not put back)
Here      The result of 4.57.6: whether a supported torch is installed; each of them has fx.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'is_torch_fx_available'",
    kind="removed-api",
    upstream=("transformers#44561", "transformers#44615"),
    group="removed-names",
)


@FIX.adds_made(
    ("transformers.utils.import_utils:is_torch_fx_available", ">=5.0.0"), exported_by=("transformers.utils",)
)
def is_torch_fx_available(import_utils: Any) -> Callable[[], bool]:
    """A function without arguments, as it was."""

    def is_torch_fx_available() -> bool:
        return bool(import_utils.is_torch_available())

    return is_torch_fx_available
