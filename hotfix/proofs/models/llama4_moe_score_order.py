"""A tiny Llama 4 with four experts, two texts, one of them padded on the left: logits of the tokens."""

import torch

from hotfix.models.llama4_moe_score_order import FIX
from hotfix.proofs._decoder import logits_of_both_attentions
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, with both attentions."""
    from transformers import Llama4ForCausalLM, Llama4TextConfig

    config = Llama4TextConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        intermediate_size_mlp=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_local_experts=4,
        num_experts_per_tok=1,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        attention_chunk_size=16,
    )
    return logits_of_both_attentions(testbed, Llama4ForCausalLM, config)
