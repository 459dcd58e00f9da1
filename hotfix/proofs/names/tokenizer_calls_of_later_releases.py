"""The proof: a batch is decoded, and special tokens are added, as scripts for 5.x do."""

import torch

from hotfix.names.tokenizer_calls_of_later_releases import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="(TypeError: .*'list'|AssertionError: Key)", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Texts, and ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "b": 2, "[PAD]": 3}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")
    if target.qualname.endswith(".decode"):
        batch = torch.tensor([[1, 2, 3], [2, 0, 3]])
        return {
            "lists": words(*tokenizer.decode(batch.tolist())),
            "tensor": words(*tokenizer.decode(batch, skip_special_tokens=True)),
            "array": words(*tokenizer.decode(batch.numpy())),
            "one": words(tokenizer.decode([1, 2])),
        }
    count = tokenizer.add_special_tokens({"extra_special_tokens": ["<x>"]})
    return {
        "count": torch.tensor(count),
        "ids": torch.tensor(tokenizer("a <x> b<x>").input_ids),
        "special": torch.tensor(sorted(tokenizer.all_special_ids)),
        "text": words(tokenizer.decode([1, 4, 2, 4], skip_special_tokens=True)),
    }
