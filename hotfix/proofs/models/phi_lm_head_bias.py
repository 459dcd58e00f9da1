"""A tiny Phi loads a checkpoint that has a bias; two texts, one of them padded on the left: logits of the tokens."""

import torch

from hotfix.models.phi_lm_head_bias import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, with both attentions, of a model that was read from files and of one that was given its state."""
    import tempfile

    from transformers import PhiConfig, PhiForCausalLM

    config = PhiConfig(
        vocab_size=48,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
    )
    ids = testbed.randint(5, 48, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    model = testbed.model(PhiForCausalLM, config, "eager", torch.float32)
    state = {**model.state_dict(), "lm_head.bias": testbed.randn(48, seed=2)}
    logits = {}
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        torch.save(state, f"{folder}/pytorch_model.bin")
        for attention in ("eager", "sdpa"):
            model = PhiForCausalLM.from_pretrained(folder, attn_implementation=attention, weights_only=True)
            model = model.to(testbed.device).eval()
            logits[attention] = model(ids, attention_mask=mask).logits[mask.bool()]
    model = testbed.model(PhiForCausalLM, config, "sdpa", torch.float32)
    model.load_state_dict(state, strict=False)
    logits["load_state_dict"] = model(ids, attention_mask=mask).logits[mask.bool()]
    return logits
