"""A tiny Gemma 4 whose last two layers of four share keys and values: with a cache, without, and in training."""

import torch

from hotfix.models.gemma4_kv_share_no_cache import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, tokens, and gradients with checkpointing; with a cache nothing may change."""
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig

    config = Gemma4TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=4,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        global_head_dim=16,
        sliding_window=4,
        layer_types=["sliding_attention", "full_attention"] * 2,
        num_kv_shared_layers=2,
        vocab_size_per_layer_input=64,
        hidden_size_per_layer_input=8,
        max_position_embeddings=64,
    )
    model = testbed.model(Gemma4ForCausalLM, config, attn="eager", dtype=torch.float32)
    ids = testbed.randint(3, 60, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    results = {}
    for name, use_cache in (("a cache", True), ("none", False)):
        results[name] = model(ids, attention_mask=mask, use_cache=use_cache).logits[mask.bool()]
    short = ids[:, :2]
    results["tokens"] = model.generate(short, attention_mask=torch.ones_like(short), max_new_tokens=6, do_sample=False)
    model.train().gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model(ids, attention_mask=mask, labels=ids, use_cache=False).loss.backward()
    shared = tuple(f"layers.{layer}.self_attn.{name}" for layer in (2, 3) for name in ("k_", "v_"))
    # Later releases have no weights for shared keys and values.
    learned = testbed.gradients(model, vectors=False).items()
    return {**results, **{name: gradient for name, gradient in learned if not any(part in name for part in shared)}}
