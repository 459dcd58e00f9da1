"""The case of `gpt2-fa2-padding-loses-causality`."""

import torch

from hotfix.models.gpt2_fa2_padding_loses_causality import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import gpt2


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A GPT-2 takes a step on three samples, of which one is padded on the left and one on the right."""
    model = gpt2(testbed).train()
    input_ids = testbed.randint(0, 64, 3, 9, seed=1)
    mask = torch.ones_like(input_ids)
    mask[0, :3] = mask[1, 5:] = 0
    output = model(input_ids, attention_mask=mask, labels=input_ids.where(mask.bool(), -100), use_cache=False)
    output.loss.backward()
    testbed.assert_flash("flash_attn_varlen_func")
    return {"logits": output.logits * mask[..., None], "loss": output.loss, **testbed.gradients(model)}
