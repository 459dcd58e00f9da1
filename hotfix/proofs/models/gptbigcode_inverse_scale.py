"""A tiny GPTBigCode, two texts, one of them padded on the left: logits of the tokens."""

import torch

from hotfix.models.gptbigcode_inverse_scale import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, with both attentions."""
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

    config = GPTBigCodeConfig(vocab_size=48, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    ids = testbed.randint(5, 48, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    results = {}
    for attention in ("eager", "sdpa"):
        model = testbed.model(GPTBigCodeForCausalLM, config, attention, torch.float32)
        results[attention] = model(ids, attention_mask=mask).logits[mask.bool()]
    return results
