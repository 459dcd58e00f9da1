"""The attention of a small decoder's layers, called with positions, as decoder layers of other projects do."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.attention_called_with_positions import FIX, MODELS
from hotfix.proofs._decoder import SIZES
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {**SIZES, "pad_token_id": 0, "rope_theta": 10000.0}


@FIX.case(
    oracles={"*": "4.47.1"},
    raises="TypeError: .*forward.. missing .* required positional argument|TypeError: cannot unpack non-iterable None",
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What each layer, or its attention, returns for five tokens, and then for one more."""
    folder = target.module.rpartition(".modeling_")[2]
    modeling = import_module(target.module)
    config = getattr(import_module(target.module.replace("modeling_", "configuration_")), f"{MODELS[folder]}Config")
    sizes = {**_SIZES, "sliding_window": 64 if folder == "gemma2" else None}
    hidden = testbed.randn(2, 6, 32, seed=4)
    positions = torch.tensor([[0, 1, 2, 3, 4, 5], [0, 0, 1, 2, 3, 4]], device=testbed.device)  # one is padded left
    mask = torch.full((6, 6), torch.finfo(hidden.dtype).min, device=hidden.device).triu(1).expand(2, 1, 6, 6)
    results = {}
    for attn in ("eager",) if folder == "gemma2" else ("eager", "sdpa"):  # Gemma 2 has lost SDPA
        model = testbed.model(
            getattr(modeling, f"{MODELS[folder]}ForCausalLM"), config(**sizes), attn=attn, dtype=torch.float32
        ).model
        for at, layer in enumerate(model.layers):
            given: dict[str, Any] = {"attention_mask": mask, "position_ids": positions}
            if "DecoderLayer" in target.qualname:
                output = layer(hidden, **given)
                results[f"{attn} {at}"] = output[0] if isinstance(output, tuple) else output
            else:
                results.update(_of_attention(layer.self_attn, hidden, given, f"{attn} {at}"))
    return results


def _of_attention(attention: Any, hidden: torch.Tensor, given: dict[str, Any], name: str) -> dict[str, torch.Tensor]:
    from transformers import DynamicCache

    cache = DynamicCache()
    for number in range(attention.layer_idx):  # the first token of a cache is noticed in its first layer
        cache.update(hidden[:, None], hidden[:, None], number)
    results = {}
    for turn, tokens in enumerate((slice(0, 5), slice(5, 6))):
        rows = given["attention_mask"][:, :, tokens, : tokens.stop]
        output, weights, kept = attention(
            hidden_states=hidden[:, tokens],
            attention_mask=rows,
            position_ids=given["position_ids"][:, tokens],
            past_key_value=cache,
            output_attentions=False,
            use_cache=True,
        )
        results[f"{name}, {turn}"] = output
        results[f"{name}, {turn}: as before"] = torch.tensor([weights is None, kept is cache])
    return results
