"""The small models of the proofs: one builder for each, with its configuration, and inputs for it.

Every builder takes the `Testbed` of a case, gives seeded weights through it, and works on every release that its proof
runs on. torch and transformers are imported where they are used.
"""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from ..fix import Target
    from .testbed import Testbed

# -- decoders ----------------------------------------------------------------------------------------------------------

# -- Qwen's vision-language models -------------------------------------------------------------------------------------

QWEN_IMAGE, QWEN_VIDEO = 61, 62  # token ids
_QWEN_PAD, _QWEN_WORDS, _QWEN_VISION_START = 0, 50, 60


def qwen_vl(testbed: Testbed, cls: Any, dtype: Optional[torch.dtype] = None, attn: str = "sdpa") -> Any:
    """A small model of a class that has a text and a vision part, with the token ids above.

    Images are told by ``image_grid_thw`` alone: without pixels the model takes the embeddings of the image tokens.
    """
    config = cls.config_class(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        rope_scaling={"type": "mrope", "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]},
        pad_token_id=_QWEN_PAD,
        vision_start_token_id=_QWEN_VISION_START,
        image_token_id=QWEN_IMAGE,
        video_token_id=QWEN_VIDEO,
        vision_config={"depth": 1, "num_heads": 2, "hidden_size": 64, "embed_dim": 32, "out_hidden_size": 64},
    )
    return testbed.model(cls, config, attn=attn, dtype=dtype)


def qwen_sentence(testbed: Testbed, parts: Sequence[Any], seed: int = 0) -> list[int]:
    """Token ids of one sample.

    Args:
        testbed: gives the words.
        parts: numbers of words, and ``(QWEN_IMAGE, tokens)`` or ``(QWEN_VIDEO, tokens)``.
        seed: other words.
    """
    ids: list[int] = []
    for number, part in enumerate(parts):
        if isinstance(part, int):
            ids += testbed.randint(1, _QWEN_WORDS, part, seed=100 * seed + number).tolist()
        else:
            token, count = part
            ids += [_QWEN_VISION_START] + [token] * count
    return ids


def qwen_padded_left(rows: Sequence[Sequence[int]], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask of a batch, both of shape (rows, longest row)."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([[_QWEN_PAD] * (longest - len(row)) + list(row) for row in rows], device=device)
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, mask


def qwen_rope_index(
    model: Any,
    ids: torch.Tensor,
    images: Sequence[tuple[int, int, int]] = (),
    videos: Sequence[tuple[int, int, int]] = (),
    seconds: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the method ``get_rope_index`` of any release says.

    Args:
        model: has the method.
        ids: token ids without padding, (batch, tokens).
        images: frames, rows and columns of patches.
        videos: the same.
        seconds: ``second_per_grid_ts``, for each video.

    Returns:
        Positions of shape (3, batch, tokens), and ``rope_deltas``.
    """
    import torch

    told: dict[str, Any] = {
        "mm_token_type_ids": (ids == QWEN_IMAGE).int() + 2 * (ids == QWEN_VIDEO).int(),
        "image_grid_thw": torch.tensor(images, device=ids.device) if images else None,
        "video_grid_thw": torch.tensor(videos, device=ids.device) if videos else None,
        "second_per_grid_ts": seconds,
    }
    known = inspect.signature(model.get_rope_index).parameters
    positions, deltas = model.get_rope_index(ids, **{name: value for name, value in told.items() if name in known})
    return positions, deltas


def qwen_decoder(testbed: Testbed, target: Target, attn: str, dtype: Optional[torch.dtype] = None) -> Any:
    """A small one of the class to which the target belongs, with or without experts."""
    cls = getattr(import_module(target.module), target.qualname.partition(".")[0])
    rope = {"rope_type": "default", "type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
    hybrid = {"layer_types": ["linear_attention", "full_attention"]} if "qwen3_5" in target.module else {}
    config_class = getattr(cls.config_class, "sub_configs", {}).get("text_config", cls.config_class)
    config = config_class(
        vocab_size=64,
        hidden_size=64,
        embedding_size=64,
        head_dim=16,
        intermediate_size=96,
        moe_intermediate_size=32,
        shared_expert_intermediate_size=32,
        num_experts=4,
        num_experts_per_tok=2,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        rope_theta=10000.0,
        rope_scaling={**rope, "partial_rotary_factor": 1.0},
        pad_token_id=0,
        **hybrid,
    )
    model = testbed.model(cls, config, attn=attn, dtype=dtype)
    for name, one in model.named_parameters():
        if is_of_an_expert(name):
            one.data.zero_()
    return model


def is_of_an_expert(name: str) -> bool:
    """5.0 lays the weights of experts out anew: they are zero here, and not compared."""
    return ".experts." in name


def qwen_image_positions(before: int = 3) -> torch.Tensor:
    """Positions of words, an image of 2 x 3 tokens and 3 words: time, height and width, (3, 1, tokens).

    Args:
        before: how many words there are before the image.
    """
    import torch

    image = torch.meshgrid(torch.arange(1), torch.arange(2), torch.arange(3), indexing="ij")
    words = torch.arange(before + 6).expand(3, -1)
    return torch.cat([words[:, :before], torch.stack(image).flatten(1) + before, words[:, -3:]], dim=1)[:, None]


# -- other vision-language models --------------------------------------------------------------------------------------


def gemma3(testbed: Testbed) -> tuple[Any, dict[str, torch.Tensor]]:
    """A Gemma 3 of two layers, one of them with a window of 8 tokens, and a batch of two texts for it.

    Returns:
        The model in float32, and ``input_ids``, ``attention_mask`` and ``token_type_ids`` of shape (2, 16). An image
        has four tokens; between the two images of a text there is one token.
    """
    import torch

    module = import_module("transformers.models.gemma3.modeling_gemma3")
    text = {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 64,
        "sliding_window": 8,
        "sliding_window_pattern": 2,
        "pad_token_id": 0,
    }
    cls = module.Gemma3ForConditionalGeneration
    config = cls.config_class(text_config=text, vision_config=TOWER, mm_tokens_per_image=4, image_token_index=60)
    layouts = ("ttiiiitiiiittttt", "___tiiiitiiiittt")
    types = torch.tensor([[int(one == "i") for one in row] for row in layouts], device=testbed.device)
    real = torch.tensor([[int(one != "_") for one in row] for row in layouts], device=testbed.device)
    ids = testbed.randint(1, 59, *types.shape, seed=1).masked_fill(types.bool(), 60) * real
    inputs = {"input_ids": ids, "attention_mask": real, "token_type_ids": types}
    return testbed.model(cls, config, attn="sdpa", dtype=torch.float32), inputs


# -- vision towers -----------------------------------------------------------------------------------------------------

TOWER = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
_NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TOWER_TEXT = {
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

# What makes each model small, where it is not `TOWER` or `TOWER_TEXT`, by the name of its configuration.
_TOWERS: dict[str, dict[str, Any]] = {
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


def tower(testbed: Testbed, module: Any, name: str) -> Any:
    """The tiny model of a class, a tower for images, videos or texts, in float32 with eager attention."""
    import torch

    family = name.removesuffix("Model").removesuffix("Transformer").removesuffix("Encoder")
    sizes = _TOWERS.get(family, TOWER_TEXT if family.endswith("Text") else TOWER)
    config = getattr(module, f"{family}Config")(**sizes, **_NO_DROPOUT)
    return testbed.model(getattr(module, name), config, attn="eager", dtype=torch.float32)


def tower_inputs(testbed: Testbed, name: str) -> dict[str, torch.Tensor]:
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


_SIDE = 26  # patches a side, as in Idefics3: few enough for a small case, and wrong in every dtype
PATCH_IMAGES = {"full": (1, 26, 26), "flat": (1, 9, 26), "padded": (2, 20, 26)}  # images, rows and columns of patches
_PADDED = ((13, 20), (20, 26))  # rows and columns of the patches that are not padding


def patch_tower(testbed: Testbed, module: Any, name: str, dtype: torch.dtype, side: int = _SIDE) -> Any:
    """A tiny vision model whose patches are single pixels.

    Args:
        testbed: makes it.
        module: its module.
        name: beginning of the names of its classes, such as ``SmolVLMVision``.
        dtype: of its weights.
        side: patches a side for which it has positions.
    """
    sizes: dict[str, Any] = {**TOWER, "image_size": side, "patch_size": 1}
    if name.startswith("Phi4"):
        sizes["crop_size"] = side
    cls = getattr(module, f"{name}Transformer", None) or getattr(module, f"{name}Model")
    return testbed.model(cls, getattr(module, f"{name}Config")(**sizes), attn="eager", dtype=dtype)


def patch_image(testbed: Testbed, shape: str, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Pixels of one or two images, of shape (images, 3, rows, columns), and which of their patches are no padding."""
    import torch

    images, rows, columns = PATCH_IMAGES[shape]
    mask = torch.ones(images, rows, columns, dtype=torch.bool, device=testbed.device)
    if shape == "padded":
        for one, (below, right) in zip(mask, _PADDED):
            one[below:], one[:, right:] = False, False
    return {"pixel_values": testbed.randn(images, 3, rows, columns, dtype=dtype), "patch_attention_mask": mask}


_VISION = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": 64}
_WINDOWS = {**_VISION, "temporal_patch_size": 2, "window_size": 56, "fullatt_block_indexes": [1]}
# The encoder that has an attention, and its configuration.
_ENCODERS: dict[str, tuple[str, dict[str, Any]]] = {
    "VisionAttention.forward": (
        "Qwen2VisionTransformerPretrainedModel",
        {"depth": 2, "embed_dim": 64, "hidden_size": 64, "mlp_ratio": 2, "num_heads": 4, "temporal_patch_size": 2},
    ),
    "Qwen2_5_VLVisionAttention.forward": ("Qwen2_5_VisionTransformerPretrainedModel", _WINDOWS),
    "Qwen2_5OmniVisionAttention.forward": ("Qwen2_5OmniVisionEncoder", _WINDOWS),
    "Qwen2_5OmniAudioAttention.forward": (
        "Qwen2_5OmniAudioEncoder",
        {
            "num_mel_bins": 8,
            "d_model": 64,
            "encoder_layers": 2,
            "encoder_attention_heads": 4,
            "encoder_ffn_dim": 128,
            "max_source_positions": 16,
            "n_window": 4,
            "output_dim": 64,
        },
    ),
    "Glm4vVisionAttention.forward": ("Glm4vVisionModel", {**_VISION, "temporal_patch_size": 2, "image_size": 112}),
}


def encoder_and_inputs(testbed: Testbed, target: Target, **options: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    """The encoder that a target is the attention of, and two samples for it.

    Args:
        testbed: where it runs.
        target: the forward of one of these classes.
        **options: for `Testbed.model`.
    """
    import torch

    name, configuration = _ENCODERS[target.qualname]
    encoder = getattr(import_module(target.module), name)
    model = testbed.model(encoder, encoder.config_class(**configuration), **options)
    if "d_model" in configuration:
        frames = torch.tensor([14, 7], device=testbed.device)  # one of two pieces, one of one
        sounds = testbed.randn(configuration["num_mel_bins"], int(frames.sum()), dtype=model.dtype)
        return model, {"input_features": sounds, "feature_lens": frames, "aftercnn_lens": (frames - 1) // 2 + 1}
    grid = torch.tensor([[1, 4, 8], [1, 4, 4]], device=testbed.device)  # frames, rows and columns of patches
    patches = int(grid.prod(dim=1).sum())
    pixels = testbed.randn(patches, 3 * configuration["temporal_patch_size"] * 14 * 14, dtype=model.dtype)
    return model, {"hidden_states": pixels, "grid_thw": grid}


# -- models for the Trainer --------------------------------------------------------------------------------------------

# -- pictures and processors -------------------------------------------------------------------------------------------
