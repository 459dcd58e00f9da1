"""The proof: tokens are decoded with three arguments without names."""

import torch

from hotfix.names.v5_decode_by_position import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: PreTrainedTokenizerBase.decode\\(\\) takes from 2 to 3 positional arguments")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The texts, with and without special tokens and spaces before punctuation."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {"[UNK]": 0, "[SEP]": 1, "hello": 2, "world": 3, ".": 4}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece(cleanup=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", sep_token="[SEP]")
    ids = [2, 3, 4, 1]
    return {
        f"{skip} {clean}": words(tokenizer.decode(ids, skip, clean))
        for skip in (False, True)
        for clean in (False, True)
    }
