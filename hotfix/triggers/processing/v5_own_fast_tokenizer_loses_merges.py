"""A class outside of the library whose constructor leaves its tokenizer to the library, and a tokenizer.json."""

from __future__ import annotations

from hotfix.processing.v5_own_fast_tokenizer_loses_merges import loses_merges
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-own-fast-tokenizer-loses-merges",
    when="a fast tokenizer of a class of your own that has a constructor is read from a tokenizer.json with merges",
    wrong="it has the vocabulary of the file, and not its merges, pre-tokenizer, normalizer and decoder",
)


@TRIGGER.strikes("transformers.tokenization_utils_tokenizers:TokenizersBackend.convert_to_native_format")
def is_lost(call: Call) -> bool:
    """Remote code is read whole."""
    return not call.get("trust_remote_code", False) and loses_merges(call.owner, call.get("tokenizer_file"))
