"""The proof: texts, pairs and batches, with and without argument names."""

from typing import Any

import torch

from hotfix.names.tokenizer_encode_plus_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "sat", "on", "the", "mat", "and", "slept"]
ONE: tuple[dict[str, Any], ...] = (
    {"text": "a cat sat"},
    {"text": "a cat", "text_pair": "on the mat", "padding": "max_length", "max_length": 10},
    {"text": "the cat slept on the mat", "max_length": 5, "truncation": True, "return_tensors": "pt"},
    {"text": ["the", "cat"], "is_split_into_words": True, "add_special_tokens": False},
)
MANY: tuple[dict[str, Any], ...] = (
    {"batch_text_or_text_pairs": ["a cat", "the cat slept on the mat"], "padding": True},
    {"batch_text_or_text_pairs": [("a cat", "the mat"), ["the cat slept", "and sat"]], "padding": "longest"},
    {"batch_text_or_text_pairs": ["a", "the cat"], "padding": True, "return_tensors": "pt", "return_length": True},
    {"batch_text_or_text_pairs": [["the", "cat", "sat"], ["a", "cat", "slept"]], "is_split_into_words": True},
)


@FIX.case(raises="AttributeError: .* has no attribute '?(batch_)?encode_plus")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Encode in the ways that people do."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        # Said, since what a tokenizer of no model gives by itself changed in 5.0.0.
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )
    name = target.qualname.rpartition(".")[2]
    method = getattr(tokenizer, name)
    results = {}
    for number, call in enumerate(ONE if name == "encode_plus" else MANY):
        for key, value in method(**call).items():
            results[f"{number} {key}"] = torch.as_tensor(value) if _is_regular(value) else words(str(value))
    first = ("a cat",) if name == "encode_plus" else (["a cat"],)
    more = (None,) if name == "encode_plus" else ()
    results["by position"] = torch.as_tensor(method(*first, *more, False, "max_length", True, 4)["input_ids"])
    return results


def _is_regular(value: Any) -> bool:
    lengths = {len(row) for row in value if isinstance(row, list)} if isinstance(value, list) else set()
    return len(lengths) < 2
