"""The proof: the class is there, and none of the caches is one."""

import torch

from hotfix.names.hybrid_cache_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask of caches whether they are of the class, as adapters do."""
    from transformers import Cache, DynamicCache, LlamaConfig, StaticCache

    cls = ask(target)
    config = LlamaConfig(num_hidden_layers=1, hidden_size=16, num_attention_heads=2, num_key_value_heads=2)
    caches = (DynamicCache(), StaticCache(config=config, max_cache_len=4))
    return {
        "pickled": same_when_pickled(cls),
        "is one": torch.tensor([isinstance(cache, cls) for cache in caches]),
        "inherits": torch.tensor([issubclass(cls, parent) for parent in (Cache, DynamicCache, StaticCache)]),
        "heir": torch.tensor(issubclass(type("Heir", (cls,), {}), Cache)),
        "called": words(cls.__name__, cls.__module__),
    }
