"""A Llama or a Gemma with weights in float32 reads nine tokens from position 1000 on, under autocast and without."""

import torch

from hotfix.models.llama_gemma_rope_autocast import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import gemma, llama


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of two texts, and gradients under autocast, as in a step of training with mixed precision."""
    make = gemma if "gemma" in target.module else llama
    model = make(testbed, attn="eager", dtype=torch.float32)
    ids = testbed.randint(3, 60, 2, 9, seed=1)
    positions = torch.arange(1000, 1009, device=ids.device).expand(2, 9)
    with torch.autocast(testbed.device, dtype=torch.bfloat16):
        mixed = model(ids, position_ids=positions, use_cache=False).logits.float()
    mixed.logsumexp(-1).mean().backward()
    with torch.no_grad():
        exact = model(ids, position_ids=positions, use_cache=False).logits
    return {"under autocast": mixed, "without": exact, **testbed.gradients(model)}
