"""A tiny Gemma 2 with large scores reads two texts, one of them padded."""

import torch

from hotfix.models.gemma2_attn_softcap_missing import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import windowed


@FIX.case(packages={"flash-attn": None}, with_fixes=("gemma2-noncausal-sliding-layers",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of the tokens; those of sdpa were, and are, without a cap."""
    ids = testbed.randint(5, 60, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    results = {}
    for attention in ("eager", "sdpa"):
        model = windowed(testbed, "gemma2", attn=attention, dtype=torch.float32)
        for size in (1.0, 6.0):
            with torch.no_grad():
                for layer in model.model.layers:
                    layer.self_attn.q_proj.weight.mul_(size)
            results[f"{attention}, times {size}"] = model(ids, attention_mask=mask, use_cache=False).logits[mask.bool()]
    return results
