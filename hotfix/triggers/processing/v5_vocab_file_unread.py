"""The constructor of a tokenizer, called with ``vocab_file=``."""

from __future__ import annotations

from hotfix.processing.v5_vocab_file_unread import can_read
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-vocab-file-unread",
    when="a tokenizer is made with `vocab_file=` and without `vocab=`",
    wrong="it has no vocabulary but its special tokens",
    while_repaired=False,  # the constructor gets the vocabulary then
)


@TRIGGER.strikes()
def is_unread(call: Call) -> bool:
    """The release passes the file on as a keyword that nothing reads."""
    names = ("vocab", "tokenizer_object", "tokenizer_file", "gguf_file")
    given = {name: call.get(name) for name in ("vocab_file", "merges_file")}
    return not any(call.get(name) is not None for name in names) and can_read(type(call.owner), given)
