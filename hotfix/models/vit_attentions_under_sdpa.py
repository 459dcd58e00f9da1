"""ViT and its relatives return None for every attention that output_attentions=True asks for, and ignore head_mask.

Symptom   Silent. Under ``sdpa``, the default, ``outputs.attentions`` is a tuple of None, and a head that ``head_mask``
          turns off still counts.
Cause     The new attention for ``sdpa`` returned None without a look at ``output_attentions``, and gave the mask of
          heads to torch as one of tokens: a number for a whole head changes nothing.
Releases  ViT, ViTMAE, ViTMSN, DeiT, YOLOS and AST 4.41.0 to 4.45.2; VideoMAE to 4.49.0. DINOv2
          ignored ``head_mask`` from 4.45.0 to 4.49.0.
Upstream  transformers#30978, fixed in 4.46.1; VideoMAE and DINOv2 in 4.50.0
Here      The attentions are computed beside torch's kernel, whose output stays to the bit, and a mask of heads is
          applied to that output. Both equal 4.46.1 within the tolerance of the kernels. In training, the attentions
          are those before the dropout. A mask of tokens and heads (last sizes above 1) goes to torch as before.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ViT under sdpa returns None for the attentions that are asked for, and ignores head_mask",
    kind="silent",
    upstream=("transformers#30978",),
    fixed_in="4.46.1",
    when="output_attentions or head_mask is not None",
    prefilter="return context_layer, None",
    exempt={"transformers.models.*:ViTHybridSdpaSelfAttention.forward": "deprecated, and never repaired"},
)

# Folder, the beginning of the class's name, and the broken releases.
_ATTENTIONS = (
    ("audio_spectrogram_transformer", "AST", ">=4.41.0,<=4.45.2"),
    ("deit", "DeiT", ">=4.41.0,<=4.45.2"),
    ("vit", "ViT", ">=4.41.0,<=4.45.2"),
    ("vit_mae", "ViTMAE", ">=4.41.0,<=4.45.2"),
    ("vit_msn", "ViTMSN", ">=4.41.0,<=4.45.2"),
    ("yolos", "Yolos", ">=4.41.0,<=4.45.2"),
    ("videomae", "VideoMAE", ">=4.41.0,<=4.49.0"),
    ("dinov2", "Dinov2", ">=4.45.0,<=4.49.0"),
    ("dinov2_with_registers", "Dinov2WithRegisters", ">=4.48.0,<=4.49.0"),
)

_HEADS_SIDE_BY_SIDE = "context_layer = context_layer.permute(0, 2, 1, 3).contiguous()"

FIX.edits(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}SdpaSelfAttention.forward", releases)
        for folder, name, releases in _ATTENTIONS
    ),
    old=[_HEADS_SIDE_BY_SIDE, "return context_layer, None"],
    new=[
        f"from {__name__} import attentions_of, of_masked_heads\n"
        f"context_layer = of_masked_heads(context_layer, head_mask)\n{_HEADS_SIDE_BY_SIDE}",
        "return context_layer, attentions_of(self, query_layer, key_layer, head_mask) if output_attentions else None",
    ],
    beside="self.attention_probs_dropout_prob if self.training else 0.0",
    unless="head_mask is not None",
)


def of_masked_heads(context: Any, mask: Any) -> Any:
    """The output of the attention, times a number for each head.

    Args:
        context: of shape (batch, heads, tokens, width of a head).
        mask: None, or 1 for the heads that count and 0 for the others, of shape (1 or batch, heads, 1, 1).
    """
    return context * mask.to(context.dtype) if _is_of_heads(mask) else context


def attentions_of(attention: Any, query: Any, key: Any, mask: Any) -> Any:
    """The weights that the kernel of torch keeps to itself: of shape (batch, heads, tokens, tokens).

    Args:
        attention: the module.
        query: of shape (batch, heads, tokens, width of a head).
        key: of the same shape.
        mask: as above, or one that is added to the scores.
    """
    scores = query @ key.transpose(-1, -2) / attention.attention_head_size**0.5
    if mask is not None and not _is_of_heads(mask):
        return (scores + mask).softmax(dim=-1)
    weights = scores.softmax(dim=-1)
    return weights if mask is None else weights * mask


def _is_of_heads(mask: Any) -> bool:
    return getattr(mask, "ndim", 0) == 4 and mask.shape[-2:] == (1, 1)
