"""Positions for one sample, a batch of several, and no padding: they are taken for one packed sequence."""

from __future__ import annotations

from typing import Optional

from hotfix.models.fa2_posids_varlen_unpadded_batch import FORWARD
from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files

TRIGGER = Trigger(
    "fa2-posids-varlen-unpadded-batch",
    when="a batch of several samples has no padding",
    wrong="the outputs of the attention are memory that nobody has written, for all samples but the first",
)


@TRIGGER.strikes(FORWARD)
def is_taken_for_packed(call: Call) -> bool:
    """Several samples, and fewer rows of positions, or lengths that `generate` has computed."""
    if call.get("attention_mask") is not None:
        return False
    positions, lengths, samples = call.get("position_ids"), call.get("cu_seq_lens_q"), call["query_states"].shape[0]
    if lengths is not None and call.get("max_length_q") is not None:
        return bool(samples > 1)
    return positions is not None and bool(positions.ndim > 2 or samples > positions.shape[0])


@TRIGGER.in_files
def may_have_been_flash(run: Files) -> Optional[bool]:
    """Only flash attention; files do not tell of batches."""
    return False if _files.is_without_flash(run) else None
