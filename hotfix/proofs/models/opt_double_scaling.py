"""A tiny OPT, two texts, one of them padded on the left: logits of the tokens."""

import torch

from hotfix.models.opt_double_scaling import FIX
from hotfix.proofs._decoder import logits_of_both_attentions
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, with both attentions."""
    from transformers import OPTConfig, OPTForCausalLM

    config = OPTConfig(
        vocab_size=48, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, word_embed_proj_dim=32
    )
    return logits_of_both_attentions(testbed, OPTForCausalLM, config)
