"""The proof: named, additional and doubled tokens, and the properties of each."""

from typing import Any

import torch

from hotfix.names.v5_all_special_tokens_extended_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .* has no attribute '?(all_special_tokens|special_tokens_map)_extended")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask a tokenizer for its special tokens, as vLLM does."""
    from tokenizers import Tokenizer, models
    from transformers import AddedToken, PreTrainedTokenizerFast

    names = ("<s>", "</s>", "<unk>", "<a>", "<b>", "<c>")
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(names)}, unk_token="<unk>"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=AddedToken("</s>", lstrip=True, special=True),
        bos_token="<s>",
        unk_token="<unk>",
        pad_token="</s>",
        additional_special_tokens=["<a>", AddedToken("<b>", rstrip=True, special=True)],
    )
    results = {}
    for step in ("built", "added"):
        if step == "added":
            tokenizer.add_special_tokens({"mask_token": AddedToken("<c>", normalized=False, special=True)})
        held = getattr(tokenizer, target.qualname.rpartition(".")[2])
        lines = [f"{key}: {_shown(held[key])}" for key in held] if isinstance(held, dict) else [_shown(held)]
        results[step] = words(*lines)
    return results


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(map(_shown, value))
    if isinstance(value, str):
        return value
    return f"{value.content} {value.lstrip} {value.rstrip} {value.single_word} {value.normalized} {value.special}"
