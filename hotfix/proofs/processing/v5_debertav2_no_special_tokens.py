"""A tokenizer that is made of a vocabulary: ids and types of a text, of a pair, and of a text alone, as before."""

import torch

from hotfix.processing.v5_debertav2_no_special_tokens import FIX
from hotfix.proofs.testbed import Target, Testbed

_PIECES = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "▁hello", "▁world", "▁", "hello", "world", "[MASK]")


@FIX.case(packages={"flash-attn": None, "sentencepiece": ""})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids and types."""
    from transformers.models.deberta_v2.tokenization_deberta_v2 import DebertaV2Tokenizer

    tokenizer = DebertaV2Tokenizer(vocab=[(piece, -float(number)) for number, piece in enumerate(_PIECES)])
    text, pair = tokenizer("hello world"), tokenizer("hello world", "world hello", return_token_type_ids=True)
    results = {"text": text["input_ids"], "pair": pair["input_ids"], "types": pair["token_type_ids"]}
    results["alone"] = tokenizer("hello world", add_special_tokens=False)["input_ids"]
    return {name: torch.tensor(ids) for name, ids in results.items()}
