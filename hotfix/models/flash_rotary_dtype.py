"""Qwen2.5-VL and Qwen2.5-Omni cannot run their vision encoder in bfloat16 under FlashAttention-2.

Symptom   ``AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16``
Cause     Queries and keys are cast up to float32 before the rotary embedding, cos and sin are not. They are bfloat16 as
          soon as the whole model is cast, because ``inv_freq`` is a buffer. flash-attn asserted equal dtypes up to
          2.7.4.post1; from 2.8.0 on its kernel takes the mixture and computes in float32 either way.
Releases  Qwen2.5-VL: 4.49.0. Qwen2.5-Omni: 4.52.1 to 4.52.4.
Upstream  transformers#36065 (fixed in 4.50.0), transformers#38453 (the function is gone in 4.53.0),
          flash-attention commit 1870a0dc (assertion dropped in 2.8.0)
Here      If cos and sin are not float32, they are cast to float32 as well; the rotation runs in float32, and the result
          has the dtype of the input. Your own kernel in place of flash-attn's gets the arguments that the release
          passes. Bitwise equal to 4.50.0 (Qwen2.5-VL), and to 4.53.1 and flash-attn 2.8 (Qwen2.5-Omni).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix
from hotfix.pattern import occurs

if TYPE_CHECKING:
    import torch
    from flash_attn.layers.rotary import apply_rotary_emb  # the repaired modules have it under this name


FIX = Fix(
    title="AssertionError: Input and cos/sin must have the same dtype, in Qwen2.5-VL under FlashAttention-2",
    kind="crash",
    needs={"flash-attn": "<2.8"},
    upstream=("transformers#36065", "transformers#38453", "flash-attention@1870a0dc"),
    fixed_in="4.50.0, 4.53.0",
    errors=("AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.…",),
    prefilter="apply_rotary_emb(",
)

QWEN2_5_VL = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
QWEN2_5_OMNI = "transformers.models.qwen2_5_omni.modeling_qwen2_5_omni"

_OWN = "import hotfix.models._kernels as _kernels"
_KERNEL = f"_kernels.are_own({FIX.id!r}, apply_rotary_emb)"


@FIX.replaces(
    (f"{QWEN2_5_VL}:apply_rotary_pos_emb_flashatt", "==4.49.0"),
    when=f"{_OWN}; cos.dtype != torch.float32 and {_KERNEL}",
)
def apply_rotary_pos_emb_flashatt(
    q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotate queries and keys of shape (1, patches, heads, head width) by tables of shape (patches, head width)."""
    half = cos.shape[-1] // 2  # the kernel wants each angle once
    cos32, sin32 = cos[..., :half].float().contiguous(), sin[..., :half].float().contiguous()
    rotated_q = apply_rotary_emb(q.float(), cos32, sin32)
    rotated_k = apply_rotary_emb(k.float(), cos32, sin32)
    return rotated_q.to(q.dtype), rotated_k.to(k.dtype)


@FIX.replaces(
    (
        f"{QWEN2_5_OMNI}:Qwen2_5OmniVisionFlashAttention2._apply_rotary_pos_emb_flashatt",
        ">=4.52.1,<=4.52.4",
    ),
    when=f"{_OWN}; freqs.dtype != torch.float32 and {_KERNEL}",
)
def _apply_rotary_pos_emb_flashatt(self: Any, tensor: torch.Tensor, freqs: torch.Tensor) -> torch.Tensor:
    """Rotate a tensor of shape (1, patches, heads, head width) by angles of shape (patches, head width / 2)."""
    rotated = apply_rotary_emb(tensor.float(), freqs.cos().float(), freqs.sin().float())
    return rotated.to(tensor.dtype)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The input of the rotary kernel is cast up, cos and sin are not."""
    rotates = occurs("apply_rotary_emb(__X.float(), cos, sin)", function)
    cast_before = occurs("tensor_ = tensor.float()", function)
    return rotates or (cast_before and occurs("apply_rotary_emb(tensor_, cos, sin)", function))
