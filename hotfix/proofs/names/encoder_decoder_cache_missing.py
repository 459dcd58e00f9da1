"""The proof: peft imports the class, and asks of caches whether they are of it."""

import torch

from hotfix.names.encoder_decoder_cache_missing import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask as peft does."""
    from transformers.cache_utils import Cache, DynamicCache

    cls = ask(target)
    return {
        "pickled": same_when_pickled(cls),
        "is one": torch.tensor([isinstance(cache, cls) for cache in (DynamicCache(), ((), ()), None)]),
        "inherits": torch.tensor([issubclass(cls, parent) for parent in (Cache, DynamicCache)]),
        "called": words(cls.__name__, cls.__module__),
    }
