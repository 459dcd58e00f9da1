"""A tiny model of each class that vision-hidden-states-post-ln is about, and an input for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed

TOWER = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
_NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TEXT = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 16,
    "projection_size": 16,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
_SAM = {**TOWER, "output_channels": 8, "mlp_dim": 24, "window_size": 2, "global_attn_indexes": [1]}

# What makes each model small, where it is not `TOWER` or `TEXT`, by the name of its configuration.
_CONFIGS: dict[str, dict[str, Any]] = {
    "DINOv3ViT": {**TOWER, "num_register_tokens": 1},
    "GotOcr2Vision": _SAM,
    "Phi4MultimodalVision": {**TOWER, "crop_size": 8},
    "SamHQVision": _SAM,
    "SamVision": _SAM,
    "Siglip2Vision": {**TOWER, "num_patches": 4},
    "VideoMAE": {**TOWER, "use_mean_pooling": False, "num_frames": 2, "tubelet_size": 2},
    "ViTMAE": {**TOWER, "mask_ratio": 0.5},
    "Vivit": {**TOWER, "num_frames": 2, "tubelet_size": [2, 4, 4], "video_size": [8, 8]},
    "Yolos": {**TOWER, "image_size": [8, 8], "num_detection_tokens": 2},
}


def build(testbed: Testbed, module: Any, name: str) -> Any:
    """The tiny model of a class, in float32 with eager attention."""
    import torch

    family = name.removesuffix("Model").removesuffix("Transformer").removesuffix("Encoder")
    sizes = _CONFIGS.get(family, TEXT if family.endswith("Text") else TOWER)
    config = getattr(module, f"{family}Config")(**sizes, **_NO_DROPOUT)
    return testbed.model(getattr(module, name), config, attn="eager", dtype=torch.float32)


def inputs(testbed: Testbed, name: str) -> dict[str, torch.Tensor]:
    """Two images, videos or texts, whatever the class takes.

    Returns:
        Pixels in float32 of shape (2, 3, 8, 8), with frames (2, 2, 3, 8, 8), for SigLIP 2 as patches (2, 4, 48); or
        token ids of shape (2, 6).
    """
    import torch

    if "Text" in name:
        return {"input_ids": testbed.randint(3, 64, 2, 6)}
    if name.startswith(("VideoMAE", "Vivit")):
        return {"pixel_values": testbed.randn(2, 2, 3, 8, 8)}
    if name.startswith("Siglip2"):
        return {
            "pixel_values": testbed.randn(2, 4, 48),
            "pixel_attention_mask": testbed.randint(1, 2, 2, 4),
            "spatial_shapes": torch.tensor([[2, 2], [2, 2]], device=testbed.device),
        }
    if name.startswith("ViTMAE"):
        return {"pixel_values": testbed.randn(2, 3, 8, 8), "noise": testbed.randn(2, 4, seed=1)}
    return {"pixel_values": testbed.randn(2, 3, 8, 8)}
