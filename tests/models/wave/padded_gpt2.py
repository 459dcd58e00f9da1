"""Cases for gpt2-fa2-padding-loses-causality; ``eager`` is what eager attention in float32 gives, one by one."""

from __future__ import annotations

from hotfix.models import gpt2_fa2_causality
from hotfix.models.gpt2_fa2_causality import gpt2
from tests.models.wave import traces


def everything(bed, target):
    return traces.told(bed, target, padded=padded, continued=continued, case=gpt2_fa2_causality.case)


def padded(bed, target):
    """Three samples padded on the left, on the right and not at all."""
    import torch

    input_ids, mask = bed.randint(0, 64, 3, 9, seed=1), torch.ones(3, 9, dtype=torch.long, device=bed.device)
    mask[0, :3] = mask[1, 5:] = 0
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    with torch.no_grad():
        flash = gpt2(bed)(input_ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
        sdpa = gpt2(bed, attn="sdpa")(input_ids, attention_mask=mask, position_ids=positions, use_cache=False).logits
    bed.assert_flash("flash_attn_varlen_func")
    eager = torch.zeros(3, 9, 64, device=bed.device)
    for row, ids, real in zip(eager, input_ids, mask.bool()):
        row[real] = alone(bed, ids[real])
    return {"flash": flash * mask[..., None], "sdpa": sdpa * mask[..., None], "eager": eager}


def continued(bed, target):
    """Logits of three tokens that are generated for prompts padded on the left."""
    import torch

    model = gpt2(bed)
    input_ids, mask = bed.randint(3, 64, 3, 7, seed=1), torch.ones(3, 7, dtype=torch.long, device=bed.device)
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
    eager = [alone(bed, ids[:-1][torch.cat((real, real.new_ones(2)))])[-3:] for ids, real in rows]
    return {"flash": torch.stack(output.logits, dim=1), "eager": torch.stack(eager)}


def alone(bed, ids):
    import torch

    with torch.no_grad():
        return gpt2(bed, attn="eager", dtype=torch.float32)(ids[None]).logits[0]
