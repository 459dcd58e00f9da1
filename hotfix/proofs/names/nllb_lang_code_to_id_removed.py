"""The proof: the codes of a tokenizer without a list of its own, and of one with two codes that gets a third later."""

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional

import torch

from hotfix.names.nllb_lang_code_to_id_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed

_FIRST = ("<s>", "<pad>", "</s>", "<unk>", *(f"word{number}" for number in range(14)))
"""Tokens before the language codes; the mask is behind them, as in the files of NLLB."""


@FIX.case(
    raises="AttributeError: .*NllbTokenizer.* has no attribute '?lang_code_to_id",
    oracles={"*": "4.41.2"},
    packages={"sentencepiece": ""},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Codes and numbers; a code that the program puts in stays, and a token that is added later is none."""
    results = {}
    for name, codes in (("every", None), ("two", ["fra_Latn", "eng_Latn"])):
        tokenizer = _tokenizer(ask(target), codes)
        tokenizer.add_special_tokens({"additional_special_tokens": ["new_Latn"]})
        tokenizer.lang_code_to_id["put_Latn"] = 7
        results[f"{name}: codes"] = words(*tokenizer.lang_code_to_id)
        results[f"{name}: numbers"] = torch.tensor(list(tokenizer.lang_code_to_id.values()))
    return results


def _tokenizer(kind: Any, codes: Optional[list[str]]) -> Any:
    """A slow tokenizer, a fast one of 4.x, or one of 5.x; with all codes for None."""
    from tokenizers import Tokenizer, models
    from transformers import AddedToken
    from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES

    tokens = (*_FIRST, *(codes or FAIRSEQ_LANGUAGE_CODES), "<mask>")
    numbers = {token: number for number, token in enumerate(tokens)}
    if "_tokenize" in vars(kind):
        added = {number: AddedToken(token) for token, number in numbers.items() if number >= len(_FIRST)}
        with TemporaryDirectory() as folder:
            return kind(_sentencepiece(Path(folder)), added_tokens_decoder=added, additional_special_tokens=codes)
    if "slow_tokenizer_class" in vars(kind):
        core = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
        return kind(tokenizer_object=core, additional_special_tokens=codes)
    return kind(vocab=numbers, additional_special_tokens=codes)


def _sentencepiece(folder: Path) -> str:
    """A model with as many pieces as `_FIRST` has tokens, less the one that only NLLB has."""
    import_module("sentencepiece").SentencePieceTrainer.train(
        sentence_iterator=iter(["the cat sat on the mat", "a dog ran to the cat"] * 20),
        model_prefix=str(folder / "model"),
        vocab_size=len(_FIRST) - 1,
        minloglevel=2,
    )
    return str(folder / "model.model")
