"""A configuration with tie_word_embeddings=False."""

from __future__ import annotations

from hotfix.loading.v5_umt5_config_unties_encoder import lacking
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-umt5-config-unties-encoder",
    when="the configuration of a UMT5, LongT5 or Pop2Piano says tie_word_embeddings: false, as files of 4.x do",
    wrong="the encoder and the decoder have random embedding tables",
)


@TRIGGER.strikes()
def lacks_tables(call: Call) -> bool:
    """Asked when a file was loaded, before what it lacks is tied."""
    missing = call.get("missing_keys", None)
    if not missing:
        return False
    return not lacking(call.owner, missing).keys() <= call.owner.all_tied_weights_keys.keys()
