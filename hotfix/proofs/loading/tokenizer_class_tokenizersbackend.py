"""A tokenizer that 5.x has saved, and one that 4.x has saved."""

import torch

from hotfix.loading.tokenizer_class_tokenizersbackend import FIX
from hotfix.proofs.loading._speaking import spoken
from hotfix.proofs.loading._written import SETTINGS, tokenizer
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ValueError: Tokenizer class TokenizersBackend does not exist")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Both are loaded, and read a text."""
    from transformers import AutoTokenizer

    results = {}
    new = {key: value for key, value in SETTINGS.items() if key != "extra_special_tokens"}
    old = {key: value for key, value in new.items() if key != "backend"}
    old.update(tokenizer_class="PreTrainedTokenizerFast", clean_up_tokenization_spaces=False)
    for name, settings in (("old", old), ("new", new)):
        with tokenizer(settings) as place:
            results.update(spoken(AutoTokenizer.from_pretrained(place), name))
    return results
