"""A tiny Llama with the scaling of Llama 3.1: logits. One that goes by both names is as it was."""

import torch

from hotfix.models.llama_rope_scaling_type_keyerror import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None}, raises="KeyError: 'type'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits with both scalings."""
    from transformers import LlamaConfig, LlamaForCausalLM

    ids, results = testbed.randint(5, 48, 2, 30, seed=1), {}
    llama3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    for scaling in ({"type": "linear", "rope_type": "linear", "factor": 2.0}, {"rope_type": "llama3", **llama3}):
        config = LlamaConfig(
            vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            max_position_embeddings=128, rope_scaling=scaling,
        )  # fmt: skip
        model = testbed.model(LlamaForCausalLM, config, "sdpa", torch.float32)
        results[str(scaling["rope_type"])] = model(ids).logits
    return results
