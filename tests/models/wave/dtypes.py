"""Cases for fa-peft-dtype-check; ``eager`` is what eager attention in float32 gives."""

from __future__ import annotations

from hotfix.models import fa_value_dtype_check
from hotfix.models._generation import llama
from tests.models.wave import traces
from tests.models.wave.unpadded import one_by_one


def mixed(bed, target):
    return traces.told(bed, target, autocast=under_autocast, norms=float32_norms, case=fa_value_dtype_check.case)


def under_autocast(bed, target):
    """Float32 weights under autocast, batched; eager attention without autocast, one by one."""
    import torch

    input_ids = bed.randint(0, 64, 3, 9, seed=1)
    model = llama(bed, dtype=torch.float32)
    with torch.no_grad(), fa_value_dtype_check.autocast(bed.device):
        flash = model(input_ids, use_cache=False).logits
    bed.assert_flash("flash_attn_func")
    return {"flash": flash, "eager": one_by_one(bed, input_ids)}


def float32_norms(bed, target):
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
    model = bed.model(Olmo2ForCausalLM, config)
    for layer in model.model.layers:
        layer.self_attn.q_norm.float()
        layer.self_attn.k_norm.float()
    with torch.no_grad():
        flash = model(bed.randint(0, 64, 2, 9, seed=1), use_cache=False).logits
    bed.assert_flash("flash_attn_func")
    return {"flash": flash}
