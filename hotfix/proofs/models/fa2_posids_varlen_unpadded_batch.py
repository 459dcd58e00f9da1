"""The case of `fa2-posids-varlen-unpadded-batch`."""

import torch

from hotfix.models.fa2_posids_varlen_unpadded_batch import FIX, PREPARE
from hotfix.proofs.models._runs import generated
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(oracles={PREPARE: "4.55.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama sees three samples of one length, with labels, and two sequences packed into one row; or it generates."""
    if f"{target.module}:{target.qualname}" == PREPARE:
        return generated(testbed)
    model = llama(testbed).train()
    input_ids = testbed.randint(0, 64, 3, 9, seed=1)
    output = model(input_ids, labels=input_ids, use_cache=False)
    output.loss.backward()
    positions = testbed.randint(0, 1, 1, 9)
    positions[0] = positions.new_tensor([0, 1, 2, 3, 4, 0, 1, 2, 3])
    packed = model(input_ids[:1], position_ids=positions, use_cache=False)
    testbed.assert_flash("flash_attn_varlen_func")
    return {"logits": output.logits, "loss": output.loss, "packed logits": packed.logits, **testbed.gradients(model)}
