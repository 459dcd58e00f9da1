"""A tokenizer with special tokens that have no name of their own."""

import torch

from hotfix.loading.extra_special_tokens_list import FIX
from hotfix.proofs.loading._speaking import spoken
from hotfix.proofs.loading._written import SETTINGS, tokenizer
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """It is loaded by the name of its class, as it was saved and without such tokens."""
    from transformers import PreTrainedTokenizerFast

    results = {}
    said = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    listed = {**SETTINGS, **said}
    without = {key: value for key, value in listed.items() if key != "extra_special_tokens"}
    for name, settings in (("without", without), ("listed", listed)):
        with tokenizer(settings) as place:
            results.update(spoken(PreTrainedTokenizerFast.from_pretrained(place), name))
    return results
