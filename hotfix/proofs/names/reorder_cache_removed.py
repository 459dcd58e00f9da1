"""The proof: a beam search of a program's own, over a tiny Llama."""

import torch

from hotfix.names.reorder_cache_removed import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .*_reorder_cache", oracles={"*": "4.42.4"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A step of the search."""
    return searched(testbed)


def searched(testbed: Testbed) -> dict[str, torch.Tensor]:
    """What follows on chosen rows, and on the rows as they were."""
    model = zoo.llama(testbed, attn="eager")
    ids = testbed.randint(3, 32, 3, 5, seed=1)
    after = testbed.randint(3, 32, 3, 1, seed=2)
    past = model(ids, use_cache=True).past_key_values
    chosen = model._reorder_cache(past, torch.tensor([2, 0, 0], device=ids.device))
    return {
        "chosen": model(after, past_key_values=chosen, use_cache=True).logits,
        "as they were": model(after, past_key_values=past, use_cache=True).logits,
    }
