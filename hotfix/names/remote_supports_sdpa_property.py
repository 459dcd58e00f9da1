"""Classes whose ``_supports_sdpa`` reads an inner model cannot be built.

Symptom   ``AttributeError: 'Florence2ForConditionalGeneration' object has no attribute '_supports_sdpa'`` from
          ``from_pretrained(..., trust_remote_code=True)``.
Cause     ``_supports_sdpa`` is a property there that reads ``self.language_model``. Attention is now chosen when
          the instance is created, before that model exists; earlier, the attribute was read from the class.
Releases  4.54.0 and later
Upstream  ComfyUI-Florence2#174, ComfyUI#9101 and four more (not repaired)
Here      A property that cannot be read yet counts as true, as in 4.53.3, which read it from the class. The inner model
          decides for itself when it is built.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Florence2ForConditionalGeneration' object has no attribute '_supports_sdpa'",
    kind="loading",
    upstream=("ComfyUI-Florence2#174", "ComfyUI#9101"),
    group="removed-names",
    errors=("AttributeError: '…' object has no attribute '_supports_sdpa'",),
    on_error=("AttributeError: …object has no attribute '_supports_sdpa'",),
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._sdpa_can_dispatch", ">=4.54.0"),
    ("transformers.modeling_utils:PreTrainedModel.get_correct_attn_implementation", ">=4.55.0,<4.56.0"),
    old="not self._supports_sdpa",
    new="not getattr(self, '_supports_sdpa', isinstance(getattr(type(self), '_supports_sdpa', None), property))",
)
