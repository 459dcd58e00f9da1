"""The proof: peft imports the class, and asks of caches whether they are of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.encoder_decoder_cache_missing import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask as peft does."""
    import torch
    from transformers.cache_utils import Cache, DynamicCache

    cls = ask(target)
    return {
        "pickled": same_when_pickled(cls),
        "is one": torch.tensor([isinstance(one, cls) for one in (DynamicCache(), ((), ()), None)]),
        "inherits": torch.tensor([issubclass(cls, one) for one in (Cache, DynamicCache)]),
        "called": words(cls.__name__, cls.__module__),
    }
