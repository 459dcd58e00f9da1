"""The proof: a tokenizer with two additional tokens, before and after another one replaces them."""

from typing import Any

import torch

from hotfix.names.v5_additional_special_tokens_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

NAMES = ("<s>", "</s>", "<unk>", "<a>", "<b>", "<c>")


@FIX.case(raises="AttributeError: .* has no attribute '?additional_special_tokens", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The additional special tokens, and their numbers."""
    from transformers import AddedToken

    marks = ["<a>", AddedToken("<b>", rstrip=True, special=True)]
    make = _slow if "python" in target.module else _fast
    tokenizer = make(unk_token="<unk>", additional_special_tokens=marks)
    results = {}
    for step in ("built", "replaced"):
        if step == "replaced":
            tokenizer.add_special_tokens({"additional_special_tokens": ["<c>"]})
        results[step] = words(*map(str, getattr(tokenizer, target.qualname.rpartition(".")[2])))
    return results


def _fast(**settings: Any) -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(NAMES)}, unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=core, **settings)


def _slow(**settings: Any) -> Any:
    from transformers import PreTrainedTokenizer

    class Words(PreTrainedTokenizer):
        vocab_size = property(lambda self: len(NAMES))

        def get_vocab(self) -> dict[str, int]:
            return {**{word: number for number, word in enumerate(NAMES)}, **self.added_tokens_encoder}

        def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
            return text.split()

        def _convert_token_to_id(self, token: str) -> int:
            return NAMES.index(token) if token in NAMES else NAMES.index("<unk>")

        def _convert_id_to_token(self, index: int) -> str:
            return NAMES[index]

    return Words(**settings)
