"""A tiny ModernBERT with local and global layers, two texts, one of them padded; and one whose bases are the same."""

import torch

from hotfix.models.modernbert_local_rope_theta import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of the tokens, with both attentions; the second model was never wrong."""
    from transformers import ModernBertConfig, ModernBertForMaskedLM

    ids = testbed.randint(5, 48, 2, 24, seed=1)
    mask = torch.ones_like(ids)
    mask[1, 17:] = 0
    results = {}
    for local in (10000.0, 160000.0):
        config = ModernBertConfig(
            vocab_size=48,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=4,
            num_attention_heads=2,
            max_position_embeddings=64,
            local_attention=8,
            local_rope_theta=local,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            cls_token_id=1,
            sep_token_id=2,
            reference_compile=False,
        )
        for attention in ("eager", "sdpa"):
            model = testbed.model(ModernBertForMaskedLM, config, attention, torch.float32)
            results[f"{attention}, local base {local}"] = model(ids, attention_mask=mask).logits[mask.bool()]
    return results
