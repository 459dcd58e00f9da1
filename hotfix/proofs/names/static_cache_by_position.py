"""The proof: a Llama reads a prompt into a cache that was made with the arguments of 4.45."""

import torch

from hotfix.names.static_cache_by_position import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(raises="TypeError: .*takes from 3 to 5 positional arguments but 6 were given", oracles={"*": "4.53.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The logits."""
    from transformers import StaticCache

    model = small_llama(testbed).eval()
    ids = testbed.randint(5, 30, 1, 6, seed=2)
    places = torch.arange(6)
    results = {}
    for name, more in (("all", ("cpu", torch.float32)), ("device", ("cpu",)), ("length", ())):
        cache = StaticCache(model.config, 1, 16, *more)
        results[name] = model(ids, past_key_values=cache, cache_position=places, use_cache=True).logits
    return results
