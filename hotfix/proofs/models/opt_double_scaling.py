"""A tiny OPT, two texts, one of them padded on the left: logits of the tokens."""

import torch

from hotfix.models.opt_double_scaling import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, with both attentions."""
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=48, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=32
    )
    ids = testbed.randint(5, 48, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    results = {}
    for attention in ("eager", "sdpa"):
        model = testbed.model(OPTForCausalLM, config, attention, torch.float32)
        results[attention] = model(ids, attention_mask=mask).logits[mask.bool()]
    return results
