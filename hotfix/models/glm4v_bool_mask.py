"""GLM-4V's vision encoder mixes the images of a batch under eager attention.

Symptom   Silent. Under ``attn_implementation="eager"`` every patch attends to the patches of all images of a batch, and
          to all frames of a video, a little less than to those of its own image or frame. One image alone is right.
Cause     The mask is boolean. SDPA understands that; eager attention adds its mask to the scores, and so adds 1 or 0.
Releases  4.53.0
Upstream  transformers#39121 (fixed in 4.53.1)
Here      For several images under the library's eager attention, the mask becomes additive: 0, or the smallest number.
          Bitwise equal to 4.53.1. A single image and a custom eager attention are left alone.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="GLM-4V's vision encoder attends across images under eager attention",
    kind="silent",
    upstream=("transformers#39121",),
    fixed_in="4.53.1",
    when=(
        "import hotfix.patching.scope as _scope; self.config._attn_implementation == 'eager' and "
        "cu_seqlens.shape[0] > 2 and _scope.is_own('glm4v-bool-mask', eager_attention_forward)"
    ),
    prefilter="dtype=torch.bool",
    order=1,  # after qwenvl-vision-fa2-crash, which edits the same function
)

_CHOSEN = "attention_interface: Callable = eager_attention_forward"
_ADDED = """
hidden, attention_mask = ~attention_mask, torch.zeros_like(attention_mask, dtype=query_states.dtype)
attention_mask.masked_fill_(hidden, torch.finfo(query_states.dtype).min)
"""

FIX.edits(
    ("transformers.models.glm4v.modeling_glm4v:Glm4vVisionAttention.forward", "==4.53.0"),
    old=_CHOSEN,
    new=_ADDED + _CHOSEN,
    beside="attention_mask = torch.zeros(__SHAPE, device=__DEVICE, dtype=torch.bool)",
)
