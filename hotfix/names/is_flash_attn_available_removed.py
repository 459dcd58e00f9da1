"""``is_flash_attn_available`` is gone.

Symptom   ``ImportError: cannot import name 'is_flash_attn_available' from 'transformers.utils'`` from remote code and
          projects of 2023, such as LLaVA's relatives.
Cause     It was the old name of ``is_flash_attn_2_available``.
Releases  4.39.0 and later
Upstream  transformers#26785, transformers#27330 (deprecated it; not put back)
Here      The function of the new name, without the warning.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'is_flash_attn_available'",
    kind="removed-api",
    upstream=("transformers#26785", "transformers#27330"),
    group="removed-names",
)


@FIX.adds_made(
    ("transformers.utils.import_utils:is_flash_attn_available", ">=4.39.0"),
    exported_by=("transformers.utils",),
)
def is_flash_attn_available(import_utils: Any) -> Callable[[], bool]:
    """The function of the new name."""
    available: Callable[[], bool] = import_utils.is_flash_attn_2_available
    return available
