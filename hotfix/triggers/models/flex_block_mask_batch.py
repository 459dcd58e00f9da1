"""Several texts, of which one has padding, or another packed text, in other blocks than the first."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "flex-block-mask-batch",
    when="texts of a batch differ in which blocks of 128 tokens are padding, or of one packed text",
    wrong="blocks that the first text skips, or sees completely, are so for all texts",
)
_BLOCK = 128
_EMPTY, _FULL = 0, 2


@TRIGGER.strikes()
def has_other_blocks(call: Call) -> Any:
    """A truth value, as a tensor, where there is more than one row.

    In a block that the first row neither skips nor sees completely, each row has its own mask.
    """
    rows = call["attention_mask_2d"]
    if len(rows) < 2:
        return False
    kinds = _kinds(rows, call.get("attention_chunk_size"))
    return ((kinds != kinds[:1]) & ((kinds[:1] == _EMPTY) | (kinds[:1] == _FULL))).any()


def _kinds(rows: Any, chunk: Optional[int]) -> Any:
    """For each row, block of queries and block of keys before it, whether none (0), some or all (2) of it is visible.

    Texts that are packed into a row are numbered in their order, and padding is 0.
    """
    import torch

    real, texts = rows > 0, rows.long()
    if chunk is not None:
        texts = (torch.arange(rows.shape[1], device=rows.device) // chunk + 1).expand_as(rows)
    # The rest of an incomplete block is invisible.
    missing = (0, -rows.shape[1] % _BLOCK)
    real = torch.nn.functional.pad(real, missing).unflatten(1, (-1, _BLOCK))
    texts = torch.nn.functional.pad(texts, missing).unflatten(1, (-1, _BLOCK))
    none = texts.max() + 1
    first_asked = texts.where(real, none).amin(-1)[:, :, None]
    last_asked = texts.where(real, -1).amax(-1)[:, :, None]
    first, last = texts.amin(-1)[:, None], texts.amax(-1)[:, None]
    asks = real.any(-1)[:, :, None]
    some = asks & (last >= first_asked)
    every = real.all(-1)[:, :, None] & (first == last) & (first_asked == first) & (last_asked == first)
    blocks = torch.arange(real.shape[1], device=rows.device)
    before, same = blocks[:, None] > blocks, blocks[:, None] == blocks
    return torch.where(before, some.long() + every, (asks & same).long())


@TRIGGER.in_files
def may_have_had_other_rows(run: Files) -> Optional[bool]:
    """Only under flex attention, with more than one text at a time."""
    if run.attention is not None and "flex" not in run.attention:
        return False
    return False if run.batch_size == 1 else None
