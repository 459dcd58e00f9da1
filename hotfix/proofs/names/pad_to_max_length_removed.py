"""The proof: one text and a batch, with and without a length, and with a padding that goes before."""

from typing import Any

import torch

from hotfix.names.pad_to_max_length_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "cat", "sat", "on", "the", "mat"]
CALLS: tuple[dict[str, Any], ...] = (
    {"max_length": 8},
    {"max_length": 3},
    {"max_length": 4, "truncation": "only_first"},
    {},
    {"truncation": True},
    {"padding": True, "max_length": 9},
    {"padding": "do_not_pad", "max_length": 9, "truncation": True},
)


@FIX.case(raises="TypeError: .*_batch_encode_plus.* got an unexpected keyword argument", oracles={"*": "4.51.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Numbers of tokens and masks."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )
    is_one = target.qualname.endswith(".encode_plus")
    texts: Any = "a cat sat on the mat" if is_one else ["a cat", "the cat sat on the mat"]
    method = tokenizer.encode_plus if is_one else tokenizer.batch_encode_plus
    results = {}
    for number, call in enumerate(CALLS):
        for switch in (True, False):
            answers = (f(texts, pad_to_max_length=switch, **call) for f in (method, tokenizer))
            results[f"{number} {switch}"] = words(*(repr(sorted(answer.items())) for answer in answers))
    if is_one:
        results["encode"] = torch.tensor(tokenizer.encode("a cat", max_length=7, pad_to_max_length=True))
    return results
