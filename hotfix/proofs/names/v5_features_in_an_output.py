"""The proof: the features of a small model are normalized and compared, as programs do."""

from importlib import import_module
from typing import Any

import torch
from torch.nn import functional

from hotfix.names.v5_features_in_an_output import FIX
from hotfix.proofs.testbed import Target, Testbed

TEXT = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 16,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "projection_dim": 8,
    "projection_size": 16,
    "project_dim": 16,
}
VISION = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 16,
    "patch_size": 8,
    "num_patches": 4,
    "projection_dim": 8,
}
PARTS: dict[str, dict[str, Any]] = {
    "align:vision": {"image_size": 32, "width_coefficient": 0.1, "depth_coefficient": 0.1, "hidden_dim": 16},
    "clap:audio": {
        "hidden_size": 32,
        "patch_embeds_hidden_size": 8,
        "depths": [1, 1, 1],
        "num_attention_heads": [2, 2, 2],
        "num_mel_bins": 16,
        "spec_size": 64,
        "window_size": 4,
        "projection_dim": 8,
    },
    "groupvit:vision": {
        **VISION,
        "depths": [1, 1, 1],
        "num_group_tokens": [4, 2, 0],
        "num_output_groups": [4, 2, 2],
        "drop_rate": 0.0,
    },
}


@FIX.case(
    raises="AttributeError: '\\w+' object has no attribute 'norm'",
    oracles={"*": "4.57.6"},
    packages={"flash-attn": None, "timm": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The features, normalized, stacked and compared."""
    name, _, method = target.qualname.partition(".")
    config, model = _built(target.module, name)
    testbed.fill(model).eval()
    with torch.no_grad():
        features = getattr(model, method)(**_inputs(testbed, target.module, method, config))
        normalized = features / features.norm(dim=-1, keepdim=True)
        scale = testbed.randn(1).exp()
        return {
            "normalized": normalized,
            "on the right": scale * features,
            "calculated": (features + features) * 2.0 - features,
            "function": functional.normalize(features, dim=-1),
            "stacked": torch.cat([features, normalized]),
            "alike": functional.cosine_similarity(features, normalized.flip(0)),
            "product": features @ normalized.transpose(-1, -2),
            "shape": torch.tensor(features.shape),
            "numbers": torch.from_numpy(features.cpu().numpy().copy()),
            "listed": torch.tensor(features.flatten().tolist()),
        }


def _built(path: str, name: str) -> tuple[Any, Any]:
    import transformers

    module, folder = import_module(path), path.split(".")[2]
    kind = getattr(module, name).config_class
    if folder == "vision_text_dual_encoder":
        vision = transformers.CLIPVisionConfig(**VISION)
        text = transformers.BertConfig(**TEXT)
        config = kind.from_vision_text_configs(vision, text, projection_dim=8)
    elif folder in ("flava", "blip"):
        small = {"text_config": TEXT, ("vision_config" if folder == "blip" else "image_config"): VISION}
        config = kind(**small, multimodal_config=TEXT, projection_dim=8, hidden_size=16)
    else:
        tower = "audio" if folder == "clap" else "vision"
        config = kind(text_config=TEXT, **{f"{tower}_config": PARTS.get(f"{folder}:{tower}", VISION)}, projection_dim=8)
    config._attn_implementation = "eager"
    return config, getattr(module, name)(config)


def _inputs(testbed: Testbed, path: str, method: str, config: Any) -> dict[str, torch.Tensor]:
    folder = path.split(".")[2]
    if "text" in method:
        ids = testbed.randint(3, 60, 2, 6)
        ids[:, -1] = 2
        return {"input_ids": ids, "attention_mask": torch.tensor([[1] * 6, [1] * 4 + [0] * 2])}
    if "audio" in method:
        return {"input_features": testbed.randn(2, 1, 16, 16)}
    if folder == "siglip2":
        return {
            "pixel_values": testbed.randn(2, 4, 192),
            "pixel_attention_mask": torch.ones(2, 4, dtype=torch.long),
            "spatial_shapes": torch.tensor([[2, 2], [2, 2]]),
        }
    size = 32 if folder == "align" else 16
    return {"pixel_values": testbed.randn(2, 3, size, size)}
