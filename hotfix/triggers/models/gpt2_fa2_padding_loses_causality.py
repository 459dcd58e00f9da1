"""Padding under FlashAttention-2, which is the only mask that it gets."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files

TRIGGER = Trigger(
    "gpt2-fa2-padding-loses-causality",
    when="a batch has padding",
    wrong="every token attends to those that come after it",
)


@TRIGGER.strikes()
def has_padding(call: Call) -> bool:
    """Self-attention of several queries, with a mask."""
    if call.get("attention_mask") is None or call.get("encoder_hidden_states") is not None:
        return False
    layer = call.owner
    is_flash = layer.config._attn_implementation.startswith("flash_attention_")
    return bool(is_flash and layer.is_causal and call["hidden_states"].shape[1] > 1)


@TRIGGER.in_files
def may_have_been_flash(run: Files) -> Optional[bool]:
    """Only flash attention; files do not tell of batches."""
    return False if _files.is_without_flash(run) else None
