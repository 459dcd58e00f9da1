"""Cases for gpt2-fa2-padding-loses-causality; ``eager`` is what eager attention in float32 gives, one by one."""

from __future__ import annotations

from hotfix.proofs.models import gpt2_fa2_padding_loses_causality
from hotfix.proofs.zoo import gpt2
from tests.fixes.models.attention import traces


def everything(testbed, target):
    return traces.traced(
        testbed, target, padded=padded, continued=continued, case=gpt2_fa2_padding_loses_causality.case
    )


def padded(testbed, target):
    """Three samples padded on the left, on the right and not at all."""
    import torch

    input_ids, mask = testbed.randint(0, 64, 3, 9, seed=1), torch.ones(3, 9, dtype=torch.long, device=testbed.device)
    mask[0, :3] = mask[1, 5:] = 0
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    with torch.no_grad():
        flash = gpt2(testbed)(input_ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
        sdpa = gpt2(testbed, attn="sdpa")(
            input_ids, attention_mask=mask, position_ids=positions, use_cache=False
        ).logits
    testbed.assert_flash("flash_attn_varlen_func")
    eager = torch.zeros(3, 9, 64, device=testbed.device)
    for row, ids, real in zip(eager, input_ids, mask.bool()):
        row[real] = alone(testbed, ids[real])
    return {"flash": flash * mask[..., None], "sdpa": sdpa * mask[..., None], "eager": eager}


def continued(testbed, target):
    """Logits of three tokens that are generated for prompts padded on the left."""
    import torch

    model = gpt2(testbed)
    input_ids, mask = testbed.randint(3, 64, 3, 7, seed=1), torch.ones(3, 7, dtype=torch.long, device=testbed.device)
    mask[1, :2] = mask[2, :4] = 0
    output = model.generate(
        input_ids * mask,
        attention_mask=mask,
        pad_token_id=0,
        max_new_tokens=3,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    rows = zip(output.sequences, mask.bool())
    eager = [alone(testbed, ids[:-1][torch.cat((real, real.new_ones(2)))])[-3:] for ids, real in rows]
    return {"flash": torch.stack(output.logits, dim=1), "eager": torch.stack(eager)}


def alone(testbed, ids):
    import torch

    with torch.no_grad():
        return gpt2(testbed, attn="eager", dtype=torch.float32)(ids[None]).logits[0]
