"""The Swin backbone of MaskFormer cannot run in half precision.

Symptom   ``torch.matmul`` raises a RuntimeError about float32 and half precision in ``MaskFormerSwinModel``,
          ``MaskFormerSwinBackbone`` and MaskFormer on top of them, after ``.to(torch.bfloat16)`` or with
          ``dtype=torch.float16``. Under autocast they run.
Cause     The mask of the shifted windows is made in float32, and so are the attention's weights once it is added.
Releases  4.36.0 to 5.17.0
Upstream  transformers#47743 (fixed in 5.18.0)
Here      After the error, the mask gets the dtype of the layer's input. Bitwise equal to 5.18.0. A compiled model is
          not repaired.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="The Swin backbone of MaskFormer cannot run in half precision",
    kind="crash",
    upstream=("transformers#47743",),
    fixed_in="5.18.0",
    prefilter="self.get_attn_mask((height_pad, width_pad))",
)

_MOVED = "attn_mask = attn_mask.to(hidden_states_windows.device)"

FIX.edits(
    ("transformers.models.maskformer.modeling_maskformer_swin:MaskFormerSwinLayer.forward", ">=4.36.0,<=5.17.0"),
    old=_MOVED,
    new=f"{_MOVED}.to(hidden_states_windows.dtype)",
    beside="attn_mask = self.get_attn_mask((height_pad, width_pad))",
    own=("self.attention.self.forward", "self.attention.self.value.forward"),
    on_error=("RuntimeError: expected …",),  # the words of torch differ by its release
    when="hidden_states.dtype in (torch.float16, torch.bfloat16)",
)
