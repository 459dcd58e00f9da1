"""A configuration that says that the head is not the embedding table."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-umt5-config-unties-encoder",
    when="the configuration of a UMT5, LongT5 or Pop2Piano says tie_word_embeddings: false, as files of 4.x do",
    wrong="the encoder and the decoder have random embedding tables",
)


@TRIGGER.strikes()
def says_no(call: Call) -> bool:
    """Asked of configurations; a forward computes what the configuration says."""
    method = call.target.rpartition(".")[2]
    if method == "forward":
        return False
    said = call.get("tie_word_embeddings", True) if method == "__init__" else call.owner.tie_word_embeddings
    return not said
