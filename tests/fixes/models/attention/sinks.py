"""Cases for v5-fa2-s-aux-none; ``eager`` is what eager attention in float32 gives, one sample at a time."""

from __future__ import annotations

from hotfix.proofs.models import v5_fa2_s_aux_none
from hotfix.proofs.zoo import llama
from tests.fixes.models.attention import traces


def without_sinks(testbed, target):
    return traces.traced(testbed, target, padded=padded, case=v5_fa2_s_aux_none.case)


def padded(testbed, target):
    """Three samples padded on the left, on the right and not at all; ``real`` says which tokens are no padding."""
    import torch

    input_ids = testbed.randint(0, 64, 3, 9, seed=1)
    mask = torch.ones_like(input_ids)
    mask[0, :3] = mask[1, 5:] = 0
    model, alone = llama(testbed), llama(testbed, attn="eager", dtype=torch.float32)
    eager = torch.zeros(3, 9, 64, device=testbed.device)
    with torch.no_grad():
        flash = model(input_ids, attention_mask=mask, use_cache=False).logits
        for row, ids, real in zip(eager, input_ids, mask.bool()):
            row[real] = alone(ids[real][None]).logits[0]
    testbed.assert_flash("flash_attn_varlen_func")
    return {"flash": flash * mask[..., None], "eager": eager}
