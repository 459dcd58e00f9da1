"""Classes that declare support for FlashAttention-2 by the old name cannot use it.

Symptom   ``ValueError: Florence2ForConditionalGeneration does not support Flash Attention 2.0 yet`` from
          ``from_pretrained(..., attn_implementation="flash_attention_2", trust_remote_code=True)``.
Cause     ``_supports_flash_attn_2`` is a property there that reads ``self.language_model``, and is read before that
          model exists, as with ``_supports_sdpa``. From 5.4.0 on the name is not read at all.
Releases  4.54.0 to 5.3.0 for properties, 5.4.0 and later for all classes that have the old name alone
Upstream  not repaired
Here      A property counts as true until it can be read, as in 4.53.3, which read it from the class; the inner model
          decides for itself when it is built. From 5.4.0 on the old name is read as in 5.3.0, for FlashAttention-2
          only.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ValueError: Florence2ForConditionalGeneration does not support Flash Attention 2.0 yet",
    kind="loading",
    group="removed-names",
    errors=(
        "ValueError: Florence2ForConditionalGeneration does not support Flash Attention 2.0 yet",
        "AttributeError: '…' object has no attribute '_supports_flash_attn_2'",
    ),
    on_error=(
        "ValueError: …does not support Flash Attention…",
        "AttributeError: …object has no attribute '_supports_flash_attn_2'",
    ),
)

MODEL = "transformers.modeling_utils:PreTrainedModel"

FIX.edits(
    (f"{MODEL}._flash_attn_2_can_dispatch", ">=4.54.0,<5.4.0"),
    old="""
        if not (self._supports_flash_attn or getattr(self, "_supports_flash_attn_2", False)):
            raise ValueError(__MESSAGE)
    """,
    new=f"""
        from {__name__} import says_yes
        if not (self._supports_flash_attn or says_yes(self)):
            raise ValueError(__MESSAGE)
    """,
)
FIX.edits(
    (f"{MODEL}._flash_attn_can_dispatch", ">=5.4.0"),
    old="""
        if not self._supports_flash_attn:
            raise ValueError(__MESSAGE)
    """,
    new=f"""
        from {__name__} import says_yes
        if not (self._supports_flash_attn or (flash_attn_version == 2 and says_yes(self))):
            raise ValueError(__MESSAGE)
    """,
    beside="flash_attn_version not in [2, 3, 4]",
)


def says_yes(model: Any) -> bool:
    """Whether a model declares support for FlashAttention-2 by the old name.

    Args:
        model: a model, possibly during its construction.
    """
    is_property = isinstance(getattr(type(model), "_supports_flash_attn_2", None), property)
    return bool(getattr(model, "_supports_flash_attn_2", is_property))
