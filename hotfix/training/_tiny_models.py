"""A tiny model of each class that ga-loss-kwargs-swallowed-vlm is about, and samples for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotfix.proofs.testbed import Testbed

_TEXT = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_VISION = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
    "projection_dim": 16,
    "head_dim": 8,
}
_CLIP = {**_VISION, "model_type": "clip_vision_model"}
_SIGLIP = {**_VISION, "model_type": "siglip_vision_model"}
_LLAMA = {**_TEXT, "model_type": "llama"}
_QWEN2 = {**_TEXT, "model_type": "qwen2"}
_IMAGES = {"image_token_index": 60, "image_token_id": 60}
_QWEN_TOKENS = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}
_ROPE_3D = {
    "rope_scaling": {"type": "default", "rope_type": "default", "mrope_section": [1, 1, 2]},
    "rope_theta": 10000.0,
}
_QWEN_VISION = {"depth": 1, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "patch_size": 4}
_QWEN_VISION_2_5 = {"depth": 1, "hidden_size": 16, "out_hidden_size": 32, "intermediate_size": 24, "num_heads": 2}
_STATES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "state_size": 4,
    "num_hidden_layers": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_PIXELS = {"num_labels": 3}
_NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_MOE = {
    "num_experts": 2,
    "num_local_experts": 2,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "intermediate_size_mlp": 48,
}
_LLAVA = {"vision_config": _CLIP, "text_config": _LLAMA, **_IMAGES, "vision_feature_layer": -1}

# What makes each model small, by the name of its configuration.
_CONFIGS: dict[str, dict[str, Any]] = {
    "AyaVision": {"vision_config": _SIGLIP, "text_config": {**_TEXT, "model_type": "cohere2"}, **_IMAGES},
    "Blip2": {
        "vision_config": _VISION,
        "qformer_config": {**_TEXT, "encoder_hidden_size": 16, **_NO_DROPOUT},
        "text_config": {**_TEXT, "model_type": "opt", "ffn_dim": 48, "word_embed_proj_dim": 32, "dropout": 0.0},
        **_IMAGES,
        "num_query_tokens": 4,
    },
    "Bloom": {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4, **_NO_DROPOUT},
    "ConvNext": {**_PIXELS, "hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "image_size": 32},
    "ConvNextV2": {**_PIXELS, "hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "image_size": 32},
    "FalconMamba": _STATES,
    "GPTNeoX": _TEXT,
    "Gemma3": {
        "vision_config": _SIGLIP,
        "text_config": {**_TEXT, "model_type": "gemma3_text"},
        **_IMAGES,
        "mm_tokens_per_image": 4,
    },
    "Gemma3n": {
        "text_config": {
            **_TEXT,
            "vocab_size_per_layer_input": 64,
            "hidden_size_per_layer_input": 8,
            "num_kv_shared_layers": 0,
            "laurel_rank": 4,
            "altup_num_inputs": 2,
            "layer_types": ["full_attention", "full_attention"],
            "activation_sparsity_pattern": [0.0, 0.0],
        },
        "audio_config": {
            "hidden_size": 16,
            "conf_num_attention_heads": 2,
            "conf_num_hidden_layers": 1,
            "sscp_conv_channel_size": [4, 4],
            "vocab_size": 8,
            "vocab_offset": 56,
        },
        "vision_config": {"hidden_size": 2048, "vocab_size": 8, "vocab_offset": 48},
    },
    "Glm4v": {
        "text_config": {**_TEXT, **_ROPE_3D},
        "vision_config": {**_QWEN_VISION_2_5, "image_size": 28, "patch_size": 14},
        **_QWEN_TOKENS,
    },
    "Janus": {
        "text_config": _LLAMA,
        "vision_config": {**_VISION, "model_type": "janus_vision_model", "num_image_tokens": 4},
        "vq_config": {
            "embed_dim": 8,
            "num_embeddings": 8,
            "base_channels": 32,
            "channel_multiplier": [1, 1],
            "num_res_blocks": 1,
            "projection_dim": 8,
            "image_token_embed_dim": 8,
        },
    },
    "Llama4": {
        "text_config": {**_TEXT, **_MOE, "num_local_experts": 1, "num_experts_per_tok": 1, "use_cache": False},
        "vision_config": {
            **_VISION,
            "intermediate_size": 64,
            "vision_output_dim": 32,
            "projector_input_dim": 16,
            "projector_output_dim": 16,
        },
        **_IMAGES,
    },
    "Llava": _LLAVA,
    "LlavaNext": {**_LLAVA, "image_grid_pinpoints": [[8, 8]]},
    "LlavaNextVideo": {**_LLAVA, "image_grid_pinpoints": [[8, 8]], "video_token_index": 61},
    "LlavaOnevision": {
        **_LLAVA,
        "vision_config": _SIGLIP,
        "text_config": _QWEN2,
        "image_grid_pinpoints": [[8, 8]],
        "video_token_index": 61,
    },
    "Mamba2": {**_STATES, "num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8},
    "Mamba": _STATES,
    "Mistral3": {
        **_LLAVA,
        "vision_config": {**_VISION, "model_type": "pixtral"},
        "text_config": {**_TEXT, "model_type": "mistral"},
    },
    "ModernBertDecoder": {**_TEXT, "cls_token_id": 3, "sep_token_id": 4},
    "ModernBert": {**_TEXT, "cls_token_id": 3, "sep_token_id": 4, "reference_compile": False},
    "Moonshine": {
        "vocab_size": 64,
        "hidden_size": 32,
        "intermediate_size": 48,
        "encoder_num_hidden_layers": 1,
        "decoder_num_hidden_layers": 1,
        "encoder_num_attention_heads": 2,
        "decoder_num_attention_heads": 2,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
    },
    "PaliGemma": {
        "vision_config": _SIGLIP,
        "text_config": {**_TEXT, "model_type": "gemma"},
        **_IMAGES,
        "projection_dim": 32,
    },
    "Phi4Multimodal": {
        **_TEXT,
        "vision_config": {**_VISION, "image_size": 28, "crop_size": 28, "image_token_id": 60},
        "audio_config": {
            "hidden_size": 16,
            "intermediate_size": 24,
            "num_blocks": 1,
            "num_attention_heads": 2,
            "ext_pw_out_channel": 16,
            "depthwise_seperable_out_channel": 16,
            "nemo_conv_channels": 16,
            "audio_token_id": 61,
        },
    },
    "Qwen2VL": {**_TEXT, **_ROPE_3D, **_QWEN_TOKENS, "vision_config": _QWEN_VISION},
    "Qwen2_5OmniThinker": {
        "text_config": {**_TEXT, **_ROPE_3D},
        "vision_config": _QWEN_VISION_2_5,
        "audio_config": {
            "d_model": 16,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 24,
            "num_mel_bins": 8,
            "output_dim": 32,
        },
        "image_token_index": 60,
        "video_token_index": 61,
        "audio_token_index": 59,
    },
    "Qwen2_5_VL": {**_TEXT, **_ROPE_3D, **_QWEN_TOKENS, "vision_config": _QWEN_VISION_2_5},
    "Qwen3OmniMoeThinker": {
        "text_config": {**_TEXT, **_MOE, **_ROPE_3D},
        "vision_config": {**_QWEN_VISION_2_5, "num_position_embeddings": 4, "deepstack_visual_indexes": [0]},
        "audio_config": {
            "d_model": 16,
            "encoder_layers": 1,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 24,
            "num_mel_bins": 8,
            "output_dim": 32,
            "downsample_hidden_size": 8,
        },
        "image_token_id": 60,
        "video_token_id": 61,
        "audio_token_id": 59,
    },
    "Segformer": {
        **_PIXELS,
        "hidden_sizes": [8, 16],
        "depths": [1, 1],
        "num_encoder_blocks": 2,
        "sr_ratios": [1, 1],
        "num_attention_heads": [1, 2],
        "patch_sizes": [3, 3],
        "strides": [2, 2],
        "mlp_ratios": [2, 2],
        "hidden_dropout_prob": 0.0,
        "drop_path_rate": 0.0,
        "classifier_dropout_prob": 0.0,
    },
    "Swin": {
        **_PIXELS,
        "image_size": 32,
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [1, 2],
        "window_size": 4,
        "drop_path_rate": 0.0,
    },
    "VideoLlava": {**_LLAVA, "video_token_index": 61},
    "VipLlava": {**_LLAVA, "vision_feature_layers": [-1, -1]},
    "XGLM": {
        "vocab_size": 64,
        "d_model": 32,
        "ffn_dim": 48,
        "num_layers": 2,
        "attention_heads": 4,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "pad_token_id": 0,
    },
    "Zamba2": {
        **_TEXT,
        "num_labels": 3,
        "mamba_d_state": 8,
        "n_mamba_heads": 4,
        "chunk_size": 8,
        "layers_block_type": ["mamba", "hybrid"],
        "num_mem_blocks": 1,
        "use_mamba_kernels": False,
        "use_mem_rope": True,
    },
    "xLSTM": {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 1, "num_heads": 4, "pad_token_id": 0},
}


def build(testbed: Testbed, module: Any, name: str) -> Any:
    """The tiny model of a class in the table."""
    family = name.removesuffix("Model").partition("For")[0]
    arguments = deepcopy(_CONFIGS[family])
    if family == "Llama4" and import_module("transformers").__version__ in ("5.0.0", "5.1.0"):
        arguments["pad_token_id"] = 0  # these two look for it beside the configuration of the text, and it is not there
    config = getattr(module, f"{family}Config")(**arguments)
    with without_towers(module) if family == "Gemma3n" else nullcontext():
        return testbed.fill(getattr(module, name)(config))


@contextmanager
def without_towers(module: Any) -> Iterator[None]:
    """Sound and images are not looked at; what looks at them would need timm."""
    import torch

    original = module.AutoModel

    class Texts:
        @staticmethod
        def from_config(config: Any) -> Any:
            return original.from_config(config) if "text" in config.model_type else torch.nn.Identity()

    module.AutoModel = Texts
    try:
        yield
    finally:
        module.AutoModel = original


def samples(testbed: Testbed, name: str) -> list[dict[str, Any]]:
    """Four samples with equally many labels each."""
    ids = testbed.randint(5, 48, 4, 9, seed=1)
    labels = ids.clone()
    labels[:, :5] = -100
    columns = {"input_ids": ids, "labels": labels}
    if "Classification" in name:
        columns["labels"] = testbed.randint(0, 3, 4, seed=2)
    if "Image" in name:
        columns["pixel_values"] = testbed.randn(4, 3, 32, 32)
        del columns["input_ids"]
    if name.startswith("Moonshine"):
        columns["input_values"] = testbed.randn(4, 4000)
        del columns["input_ids"]
    if name.startswith("Blip2"):
        columns["pixel_values"] = testbed.randn(4, 3, 8, 8)
        ids[:, 1:5] = 60  # an image takes the place of four tokens
    if name == "Gemma3ForConditionalGeneration":
        columns["token_type_ids"] = ids * 0
    return [{key: column[row].cpu() for key, column in columns.items()} for row in range(4)]
