"""Several images in one sample."""

from __future__ import annotations

from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "gemma3-bidirectional-across-images",
    when="a sample has several images",
    wrong="the tokens of an image see all other images, also later ones",
)


@TRIGGER.strikes()
def has_several_images(call: Call) -> Any:
    """More than one run of image tokens in a row."""
    types, mask = call.get("token_type_ids"), call.get("attention_mask")
    if types is None or call["input_tensor"].shape[1] == 1 or (mask is not None and mask.ndim == 4):
        return False
    if call.owner.config.text_config._attn_implementation == "flash_attention_2":
        return False
    return ((beginnings(types).sum(-1) > 1) & ~(types > 1).any(-1)).any()  # who numbers images keeps them apart


def beginnings(types: Any) -> Any:
    """Where images begin, bool, of shape (batch, tokens); images are runs of ones."""
    from torch.nn.functional import pad

    return (types == 1) & (pad(types, (1, 0))[:, :-1] != 1)
