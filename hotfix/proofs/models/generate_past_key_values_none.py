"""The case of `generate-past-key-values-none`."""

import torch

from hotfix.models.generate_past_key_values_none import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(raises="TypeError: 'NoneType' object is not subscriptable", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The output of a Llama called without a cache, and with None as the cache."""
    model = small_llama(testbed).eval()
    ids = testbed.randint(3, 14, 2, 5)
    how = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 3, "do_sample": False, "pad_token_id": 0}
    return {"without": model.generate(ids, **how), "none": model.generate(ids, past_key_values=None, **how)}
