"""A tiny text model of Qwen3-VL-MoE with four experts, in float32, runs under autocast to bfloat16."""

import torch

from hotfix.models.qwen3vl_moe_autocast_scatter import FIX
from hotfix.proofs.testbed import Target, Testbed


# Up to 5.0.0 the experts are computed for all tokens at once, so the sums are rounded in another order.
@FIX.case(raises="scatter", packages={"flash-attn": None}, tolerance={"float32": 2e-2})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Hidden states of the text model in evaluation, and the gradient of its embedding in training."""
    from transformers import Qwen3VLMoeTextConfig
    from transformers.models.qwen3_vl_moe.modeling_qwen3_vl_moe import Qwen3VLMoeTextModel

    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
    config = Qwen3VLMoeTextConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        moe_intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        max_position_embeddings=64,
        rope_theta=10000.0,
        rope_scaling=rope,
    )
    config._attn_implementation = "eager"
    model = testbed.fill(Qwen3VLMoeTextModel(config))
    for layer in model.layers:
        for name, *shape in (("gate_up_proj", 32, 48), ("down_proj", 24, 32)):
            weight = testbed.randn(4, *shape, seed=len(name)) / 8
            kept = getattr(layer.mlp.experts, name)  # 5.0.0 keeps it transposed
            kept.data = weight if kept.shape == weight.shape else weight.transpose(1, 2).contiguous()
    ids = testbed.randint(5, 48, 2, 9, seed=1)
    with torch.autocast("cpu", torch.bfloat16):
        states = model.eval()(ids).last_hidden_state
        (model.train()(ids).last_hidden_state.float() * torch.linspace(-1, 1, 32)).mean().backward()
    return {"states": states.float(), "gradient": model.embed_tokens.weight.grad}
