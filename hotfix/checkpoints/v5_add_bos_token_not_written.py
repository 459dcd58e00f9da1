"""What is put around a text, which 5.x does not write down."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from ..loading import forms, tokenizer_forms
from ._checkpoint import TOKENIZER, TOKENIZER_CONFIG, Checkpoint, Effect, Misreading

_WITH_TEMPLATE = ("LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer")


def misreadings(checkpoint: Checkpoint, version: Version, release: forms.Release) -> Iterator[Misreading]:
    """What is put around a text, where classes of 4.x go by settings that 5.x does not write."""
    described = checkpoint.json.get(TOKENIZER_CONFIG, {})
    name = str(described.get("tokenizer_class", ""))
    if name.replace("TokenizerFast", "Tokenizer") not in _WITH_TEMPLATE:
        return
    meant, found = tokenizer_forms.ends_of_template(described, checkpoint.json.get(TOKENIZER, {}))
    if found and (meant["add_bos_token"], meant["add_eos_token"]) != (True, False):
        sentence = f"{found[0].sentence} {name} of this release puts the token for the beginning before a text."
        yield Misreading(TOKENIZER_CONFIG, "add_bos_token", Effect.MISREAD, sentence)
