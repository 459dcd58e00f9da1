"""Sequences are packed into a row by their lengths, and there are no position ids."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files

TRIGGER = Trigger(
    "fa2-varlen-kwargs-ignored",
    when="the lengths of several packed sequences are given, and the attention gets no position ids",
    wrong="sequences that are packed into one row attend to each other",
)

_LENGTHS = ("cu_seq_lens_q", "cu_seq_lens_k", "max_length_q", "max_length_k")


@TRIGGER.strikes()
def has_lengths_alone(call: Call) -> bool:
    """All four lengths, of several sequences, and nothing else that says so."""
    if call.get("attention_mask") is not None or call.get("position_ids") is not None:
        return False
    return all(call.get(name) is not None for name in _LENGTHS) and call["cu_seq_lens_q"].shape[0] > 2


@TRIGGER.in_files
def may_have_been_flash(run: Files) -> Optional[bool]:
    """Only flash attention; files do not tell of batches."""
    return False if _files.is_without_flash(run) else None
