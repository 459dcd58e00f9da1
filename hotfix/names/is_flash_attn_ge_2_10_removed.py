"""``is_flash_attn_greater_or_equal_2_10`` is missing from ``transformers.utils``.

Symptom   ``ImportError: cannot import name 'is_flash_attn_greater_or_equal_2_10' from 'transformers.utils'`` from
          remote code that uses FlashAttention-2 itself.
Cause     The function was removed in favour of the general one.
Releases  5.4.0
Upstream  transformers#28200, restored in 5.5.0
Here      The result from 5.5.0 on, without the deprecation warning: whether flash-attn 2.1.0 or later is installed. For
          `transformers.modeling_flash_attention_utils`, where upstream has not restored it, see
          `flash-utils-names-removed`.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'is_flash_attn_greater_or_equal_2_10'",
    kind="removed-api",
    upstream=("transformers#28200",),
    fixed_in="5.5.0",
    group="removed-names",
)


@FIX.adds_made(
    ("transformers.utils.import_utils:is_flash_attn_greater_or_equal_2_10", "==5.4.0"),
    exported_by=("transformers.utils",),
)
def is_flash_attn_greater_or_equal_2_10(import_utils: Any) -> Callable[[], bool]:
    """A function without arguments, as it was."""

    def is_flash_attn_greater_or_equal_2_10() -> bool:
        return bool(import_utils.is_flash_attn_greater_or_equal("2.1.0"))

    return is_flash_attn_greater_or_equal_2_10
