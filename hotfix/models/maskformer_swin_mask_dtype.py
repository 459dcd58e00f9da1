"""The Swin backbone of MaskFormer cannot run in half precision.

Symptom   ``RuntimeError: expected m1 and m2 to have the same dtype, but got: float != c10::BFloat16`` in
          ``MaskFormerSwinModel``, ``MaskFormerSwinBackbone`` and MaskFormer on top of them, after
          ``.to(torch.bfloat16)`` or ``dtype=torch.float16``. Under autocast they run.
Cause     The mask of the shifted windows is made in float32, and so are the attention's weights once it is added.
Releases  4.36.0 to 5.17.0
Upstream  transformers#47743 (fixed in 5.18.0)
Here      Where the layer's input has half precision and autocast is off, the mask gets its dtype. An attention or a
          projection of values of your own gets the mask of the release. Bitwise equal to 5.18.0.
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
    # Before torch 2.4 it takes no argument, and means CUDA.
    when="""
        (
            hidden_states.dtype in (torch.float16, torch.bfloat16)
            and not (
                torch.is_autocast_enabled(hidden_states.device.type)
                if hasattr(torch, "get_autocast_dtype")
                else torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
            )
        )
    """,
)
