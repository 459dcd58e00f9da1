"""The proof: the attention of a small decoder's layers, called with position embeddings alone."""

from importlib import import_module
from inspect import signature
from typing import Any

import torch

from hotfix.models.attention_mask_required import FIX, MODELS
from hotfix.proofs._decoder import SIZES
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {**SIZES, "sliding_window": None}


@FIX.case(
    oracles={"*": "4.47.1"},
    raises="TypeError: .*forward.. missing 1 required positional argument: 'attention_mask'",
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What each layer's attention returns, without a mask and with one, eager and as SDPA."""
    folder = target.module.rpartition(".modeling_")[2]
    name = MODELS[folder][0]
    modeling = import_module(target.module)
    config = getattr(import_module(target.module.replace("modeling_", "configuration_")), f"{name}Config")
    hidden = testbed.randn(2, 6, 32, seed=4)
    positions = torch.arange(6, device=testbed.device).expand(2, 6)
    mask = torch.full((6, 6), torch.finfo(hidden.dtype).min, device=hidden.device).triu(1).expand(2, 1, 6, 6)
    results = {}
    for attn in ("eager", "sdpa"):
        model = testbed.model(
            getattr(modeling, f"{name}ForCausalLM"), config(**_SIZES), attn=attn, dtype=torch.float32
        ).model
        for at, layer in enumerate(model.layers):
            rotary = model.rotary_emb if hasattr(model, "rotary_emb") else layer.self_attn.rotary_emb
            given: dict[str, Any] = {"position_ids": positions}
            if "position_embeddings" in signature(layer.self_attn.forward).parameters:  # not all have it in 4.47.1
                given["position_embeddings"] = rotary(hidden, positions)
            results[f"{attn} {at}"] = layer.self_attn(hidden_states=hidden, **given)[0]
            results[f"{attn} {at} masked"] = layer.self_attn(hidden_states=hidden, attention_mask=mask, **given)[0]
    return results
