"""The masks of a tiny model for a text in training, without types of tokens; with types, they are as they were."""

from importlib import import_module
from inspect import signature
from typing import Any

import torch

from hotfix.models.v5_gemma3_token_type_ids_required import FIX
from hotfix.proofs.testbed import Target, Testbed

_TEXT = {
    "vocab_size": 48,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "sliding_window": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}


@FIX.case(
    packages={"flash-attn": None},
    raises="ValueError: `(mm_)?token_type_ids` is required as a model input when training",
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Masks by the kind of the layer, as zeros and ones."""
    module = import_module(target.module)
    name = "mm_token_type_ids" if "gemma4" in target.module else "token_type_ids"
    states, mask = testbed.randn(2, 9, 32, seed=1), torch.ones(2, 9, dtype=torch.long)
    mask[1, :3] = 0
    types = torch.zeros_like(mask)
    types[:, 4:7] = 1
    takes = signature(module.create_causal_mask_mapping).parameters
    earlier = {"cache_position": torch.arange(9)} if "cache_position" in takes else {}  # up to 5.3.0
    results = {}
    for what, given in (("with an image", {name: types, "pixel_values": states}), ("text", {})):
        arguments: dict[str, Any] = {
            "past_key_values": None,
            "position_ids": None,
            "is_training": True,
            **earlier,
            **given,
        }
        config = _configuration(target.module)
        config._attn_implementation = config.get_text_config()._attn_implementation = "eager"
        masks = module.create_causal_mask_mapping(config, states, mask, **arguments)
        masks = masks if isinstance(masks, dict) else {"all": masks}
        results.update({f"{what}: {kind}": (mask_of == 0).long() for kind, mask_of in masks.items()})
    return results


def _configuration(module: str) -> Any:
    import transformers

    if module.endswith("modeling_git"):
        return transformers.GitConfig(**{k: v for k, v in _TEXT.items() if k not in ("head_dim", "sliding_window")})
    kind = "Gemma4" if "gemma4" in module else "Gemma3"
    text = getattr(transformers, f"{kind}TextConfig")(**_TEXT)
    return getattr(transformers, f"{kind}Config")(text_config=text)
