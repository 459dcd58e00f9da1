"""A batch with padding on the left, read in two parts by a small Llama."""

import torch

from hotfix.models.fa2_unpad_input_five_values import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ValueError: too many values to unpack")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of the first part and of the second, and of both at once, which needs nothing."""
    from transformers import DynamicCache

    model = zoo.llama(testbed)
    ids = testbed.randint(3, 60, 2, 10, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    whole = model(ids, attention_mask=mask, use_cache=False).logits
    cache = DynamicCache()
    first = model(ids[:, :6], attention_mask=mask[:, :6], past_key_values=cache, use_cache=True).logits
    second = model(ids[:, 6:], attention_mask=mask, past_key_values=cache, use_cache=True).logits
    return {"first": first[mask[:, :6].bool()], "second": second, "whole": whole[mask.bool()]}
