"""Tiny models whose head is their embedding table, in files as 4.57.6 writes them; and with a head of its own."""

import json
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.loading.v5_config_without_tie_word_embeddings import FIX
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
_TEXT = {**_SIZES, "vocab_size": 64, "num_key_value_heads": 2, "max_position_embeddings": 64}
_ROPE_3D = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
_QWEN = {**_TEXT, "model_type": "qwen2", "layer_types": ["full_attention"]}
_QWEN_VL = {**_TEXT, "rope_parameters": _ROPE_3D, "layer_types": ["full_attention"]}
_GLM = {**_TEXT, "rope_parameters": _ROPE_3D, "pad_token_id": 0}
_CLIP = {**_SIZES, "model_type": "clip_vision_model", "image_size": 28, "patch_size": 14}
_SIGLIP = {**_CLIP, "model_type": "siglip_vision_model"}
_VISION_OF_QWEN = {"depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 48, "patch_size": 4}
_IMAGES = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}
_MAMBA = {"vocab_size": 64, "hidden_size": 32, "state_size": 8, "num_hidden_layers": 1}
_BART = {
    "vocab_size": 64,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
}

# By package: the class of the model, and its configuration.
_MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "camembert": ("CamembertForMaskedLM", {**_SIZES, "vocab_size": 64, "max_position_embeddings": 64}),
    "deepseek_vl": (
        "DeepseekVLForConditionalGeneration",
        {"text_config": {**_TEXT, "model_type": "llama"}, "vision_config": _SIGLIP, "image_token_id": 60},
    ),
    "falcon_mamba": ("FalconMambaForCausalLM", _MAMBA),
    "florence2": (
        "Florence2ForConditionalGeneration",
        {
            "text_config": {**_BART, "model_type": "bart"},
            "vision_config": {
                "embed_dim": [8, 8],
                "num_heads": [2, 2],
                "num_groups": [2, 2],
                "depths": [1, 1],
                "patch_size": [7, 3],
                "patch_stride": [4, 2],
                "patch_padding": [3, 1],
                "patch_prenorm": [False, True],
                "window_size": 4,
                "projection_dim": 32,
            },
            "image_token_id": 60,
        },
    ),
    "glm4v": (
        "Glm4vForConditionalGeneration",
        {"text_config": _GLM, "vision_config": {**_VISION_OF_QWEN, "out_hidden_size": 32, "image_size": 32}},
    ),
    "glm4v_moe": (
        "Glm4vMoeForConditionalGeneration",
        {
            "text_config": {
                **_GLM,
                "rope_parameters": {**_ROPE_3D, "partial_rotary_factor": 0.5, "mrope_section": [1, 1, 2]},
                "moe_intermediate_size": 16,
                "n_routed_experts": 2,
                "num_experts_per_tok": 2,
                "first_k_dense_replace": 1,
            },
            "vision_config": {**_VISION_OF_QWEN, "out_hidden_size": 32, "image_size": 32},
        },
    ),
    "glm_ocr": (
        "GlmOcrForConditionalGeneration",
        {"text_config": _GLM, "vision_config": {**_VISION_OF_QWEN, "out_hidden_size": 32, "image_size": 32}},
    ),
    "internvl": (
        "InternVLForConditionalGeneration",
        {
            "text_config": _QWEN,
            "vision_config": {**_SIZES, "image_size": [28, 28], "patch_size": [14, 14]},
            "image_token_id": 60,
        },
    ),
    "janus": (
        "JanusForConditionalGeneration",
        {
            "text_config": {**_TEXT, "model_type": "llama"},
            "vision_config": {
                "hidden_size": 32,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "image_size": 28,
                "patch_size": 14,
                "projection_dim": 32,
                "depth": 1,
                "num_image_tokens": 4,
            },
            "vq_config": {
                "embed_dim": 4,
                "num_embeddings": 8,
                "latent_channels": 4,
                "base_channels": 32,
                "channel_multiplier": [1, 1],
                "num_res_blocks": 1,
                "num_hidden_layers": 1,
                "projection_dim": 32,
                "image_token_embed_dim": 32,
            },
            "image_token_id": 60,
        },
    ),
    "lfm2_vl": (
        "Lfm2VlForConditionalGeneration",
        {
            "text_config": {**_TEXT, "model_type": "lfm2", "layer_types": ["full_attention"]},
            "vision_config": {**_SIZES, "model_type": "siglip2_vision_model", "patch_size": 4, "num_patches": 16},
            "projector_hidden_size": 16,
            "image_token_id": 60,
        },
    ),
    "llava_next_video": (
        "LlavaNextVideoForConditionalGeneration",
        {
            "text_config": {**_TEXT, "model_type": "llama"},
            "vision_config": _CLIP,
            "image_token_index": 60,
            "video_token_index": 61,
        },
    ),
    "llava_onevision": (
        "LlavaOnevisionForConditionalGeneration",
        {"text_config": _QWEN, "vision_config": _SIGLIP, "image_token_index": 60, "video_token_index": 61},
    ),
    "mamba": ("MambaForCausalLM", _MAMBA),
    "ovis2": (
        "Ovis2ForConditionalGeneration",
        {
            "text_config": {key: value for key, value in _QWEN.items() if key != "model_type"},
            "vision_config": {**_SIZES, "image_size": 28, "patch_size": 14, "vocab_size": 32},
            "hidden_size": 32,
            "vocab_size": 64,
            "image_token_id": 60,
            "visual_indicator_token_ids": [51, 52, 53, 54, 55],
        },
    ),
    "qwen2_5_vl": (
        "Qwen2_5_VLForConditionalGeneration",
        {"text_config": _QWEN_VL, "vision_config": {**_VISION_OF_QWEN, "out_hidden_size": 32}, **_IMAGES},
    ),
    "qwen2_vl": (
        "Qwen2VLForConditionalGeneration",
        {
            "text_config": _QWEN_VL,
            "vision_config": {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "patch_size": 4},
            **_IMAGES,
        },
    ),
    "shieldgemma2": (
        "ShieldGemma2ForImageClassification",
        {
            "text_config": {**_TEXT, "model_type": "gemma3_text", "head_dim": 16, "layer_types": ["full_attention"]},
            "vision_config": _SIGLIP,
            "mm_tokens_per_image": 4,
        },
    ),
    "video_llama_3": (
        "VideoLlama3ForConditionalGeneration",
        {
            "text_config": _QWEN,
            "vision_config": {**_SIZES, "patch_size": 4},
            "image_token_id": 60,
            "video_token_id": 61,
        },
    ),
}


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The heads of both, loaded from one file and from shards, and loaded once more after they were saved."""
    package = target.module.split(".")[2]
    results = {}
    for kind in ("tied", "its own"):
        with TemporaryDirectory() as place:
            model = _written(testbed, package, kind == "tied", Path(place) / "first")
            loaded = type(model).from_pretrained(Path(place) / "first")
            loaded.save_pretrained(Path(place) / "second", max_shard_size="10KB")
            again = type(model).from_pretrained(Path(place) / "second")
        for when, kept in (("loaded", loaded), ("again", again)):
            for name, value in kept.state_dict().items():
                if name.endswith(("lm_head.weight", "lm_head.decoder.weight", "lm_head.bias", "lm_head.decoder.bias")):
                    results[f"{kind}, {when}: {name}"] = value
        results[f"{kind}: logits"] = _logits(testbed, loaded)
    return results


def _written(testbed: Testbed, package: str, tied: bool, place: Path) -> Any:
    """A model, saved; its configuration says of the head what 4.57.6 writes down."""
    name, options = _MODELS[package]
    module = import_module(f"transformers.models.{package}.modeling_{package}")
    cls = getattr(module, name)
    # Configurations take dictionaries apart in place.
    config = cls.config_class(**json.loads(json.dumps(options)))
    for part in (config, getattr(config, "text_config", None)):
        if part is not None:
            part.tie_word_embeddings = tied
    model = testbed.fill(cls(config))
    model.save_pretrained(place)
    path = place / "config.json"
    written = json.loads(path.read_text())
    written.pop("tie_word_embeddings", None)
    written["transformers_version"] = "4.57.6"
    if not tied:
        written["tie_word_embeddings"] = False
    if "text_config" in written:
        written["text_config"]["tie_word_embeddings"] = tied
        if package == "lfm2_vl":
            written["text_config"]["tie_embedding"] = tied
    path.write_text(json.dumps(written))
    return model


def _logits(testbed: Testbed, model: Any) -> torch.Tensor:
    ids = testbed.randint(5, 50, 2, 9, seed=1)
    model = getattr(model, "model", model) if type(model).__name__.startswith("ShieldGemma2") else model
    given = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
    with torch.no_grad():
        logits: torch.Tensor = model.to(testbed.device).eval()(input_ids=ids, **given).logits
    return logits
