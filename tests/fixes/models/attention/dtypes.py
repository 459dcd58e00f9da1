"""Cases for fa-peft-dtype-check; ``eager`` is what eager attention in float32 gives."""

from __future__ import annotations

from hotfix.proofs.models import fa_peft_dtype_check
from hotfix.proofs.zoo import llama
from tests.fixes.models.attention import traces
from tests.fixes.models.attention.unpadded import one_by_one


def mixed(testbed, target):
    return traces.traced(testbed, target, autocast=under_autocast, norms=float32_norms, case=fa_peft_dtype_check.case)


def under_autocast(testbed, target):
    """Float32 weights under autocast, batched; eager attention without autocast, one by one."""
    import torch

    input_ids = testbed.randint(0, 64, 3, 9, seed=1)
    model = llama(testbed, dtype=torch.float32)
    with torch.no_grad(), fa_peft_dtype_check.autocast(testbed.device):
        flash = model(input_ids, use_cache=False).logits
    testbed.assert_flash("flash_attn_func")
    return {"flash": flash, "eager": one_by_one(testbed, input_ids)}


def float32_norms(testbed, target):
    """OLMo2 in bfloat16 whose norms of queries and keys are kept in float32, as PEFT prepares a model for training."""
    import torch
    from transformers import Olmo2Config, Olmo2ForCausalLM

    config = Olmo2Config(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
    )
    model = testbed.model(Olmo2ForCausalLM, config)
    for layer in model.model.layers:
        layer.self_attn.q_norm.float()
        layer.self_attn.k_norm.float()
    with torch.no_grad():
        flash = model(testbed.randint(0, 64, 2, 9, seed=1), use_cache=False).logits
    testbed.assert_flash("flash_attn_func")
    return {"flash": flash}
