"""A tokenizer of words without special tokens: a text, a pair, a text that is cut; and one that chooses its tokens."""

from typing import Any

import torch

from hotfix.processing.special_tokens_pattern_cls_sep import FIX
from hotfix.proofs.testbed import Target, Testbed

_WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b", "c", "d")


@FIX.case(raises="ValueError: type of None unknown")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids, masks and types."""
    none = _tokenizer()
    results = {
        "text": none("a b c", return_tensors="pt", return_special_tokens_mask=True),
        "pair": none("a b", "c d", return_tensors="pt", return_special_tokens_mask=True, return_token_type_ids=True),
        "cut": none("a b c d", max_length=3, truncation=True, return_tensors="pt"),
        "chosen": _tokenizer(special_tokens_pattern="cls_sep", cls_token="[CLS]", sep_token="[SEP]")(
            "a b", "c d", return_tensors="pt", return_special_tokens_mask=True
        ),
    }
    return {f"{name}, {key}": value for name, batch in results.items() for key, value in batch.items()}


def _tokenizer(**settings: Any) -> Any:
    from transformers import PreTrainedTokenizer

    class Words(PreTrainedTokenizer):
        """Takes each word for a token."""

        @property
        def vocab_size(self) -> int:
            return len(_WORDS)

        def get_vocab(self) -> dict[str, int]:
            return {word: number for number, word in enumerate(_WORDS)}

        def _tokenize(self, text: str, **kwargs: Any) -> list[str]:
            return text.split()

        def _convert_token_to_id(self, token: str) -> int:
            return _WORDS.index(token)

        def _convert_id_to_token(self, index: int) -> str:
            return _WORDS[index]

    return Words(pad_token="[PAD]", unk_token="[UNK]", **settings)
