"""The proof: a decoder layer of Llama and an encoder of CLIP, with configurations that no model has seen."""

import torch

from hotfix.models.attention_of_no_model import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="KeyError: None", oracles={"*": "4.53.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Hidden states, with and without a mask."""
    from transformers import CLIPVisionConfig, LlamaConfig
    from transformers.models.clip.modeling_clip import CLIPEncoder
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

    config = LlamaConfig(hidden_size=16, num_attention_heads=2, intermediate_size=32)
    layer = testbed.fill(LlamaDecoderLayer(config, 0)).eval()
    states, positions = testbed.randn(2, 5, 16, seed=1), torch.arange(5)[None]
    rotary = LlamaRotaryEmbedding(config)(states, positions)
    results = {}
    for name, mask in (("no mask", None), ("causal", torch.full((1, 1, 5, 5), -1e9).triu(1))):
        output = layer(states, attention_mask=mask, position_ids=positions, position_embeddings=rotary)
        results[f"Llama, {name}"] = output[0] if isinstance(output, tuple) else output
    config = CLIPVisionConfig(hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2)
    encoder = testbed.fill(CLIPEncoder(config)).eval()
    return {**results, "CLIP": encoder(inputs_embeds=states).last_hidden_state}
