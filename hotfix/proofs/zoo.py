"""The small models of the proofs: one builder for each, with its configuration, and inputs for it.

Every builder takes the `Testbed` of a case, gives seeded weights through it, and works on every release that its proof
runs on. torch and transformers are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed

# -- decoders ----------------------------------------------------------------------------------------------------------

# -- Qwen's vision-language models -------------------------------------------------------------------------------------

# -- other vision-language models --------------------------------------------------------------------------------------

# -- vision towers -----------------------------------------------------------------------------------------------------

# -- models for the Trainer --------------------------------------------------------------------------------------------


def small_llama(testbed: Testbed) -> Any:
    """A model that takes the number of labels of a step and normalises its loss by it."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
    )
    return testbed.fill(LlamaForCausalLM(config))


def small_bert(testbed: Testbed) -> Any:
    """A model whose forward takes no loss arguments in the releases of 2024; without dropout."""
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=32,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=16,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=3,
    )
    return testbed.fill(BertForSequenceClassification(config))


def texts(testbed: Testbed, firsts: Sequence[int] = (7, 4, 2, 1)) -> list[dict[str, Any]]:
    """Four texts of nine tokens. The labels before that in `firsts` are masked: by default 2, 5, 7 and 8 are left.

    What comes first in a text is never predicted, and releases differ in whether they count it.
    """
    ids = testbed.randint(0, 32, 4, 9, seed=1).cpu()
    labels = ids.clone()
    for row, first in enumerate(firsts):
        labels[row, :first] = -100
    return [{"input_ids": one, "labels": label} for one, label in zip(ids, labels)]


def classified(testbed: Testbed) -> list[dict[str, Any]]:
    """Four texts with a class each."""
    ids, labels = testbed.randint(0, 32, 4, 9, seed=1).cpu(), testbed.randint(0, 3, 4, seed=2).cpu()
    return [{"input_ids": one, "labels": label} for one, label in zip(ids, labels)]


_TINY_TEXT = {
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
_TINY_VISION = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
    "projection_dim": 16,
    "head_dim": 8,
}
_TINY_CLIP = {**_TINY_VISION, "model_type": "clip_vision_model"}
_TINY_SIGLIP = {**_TINY_VISION, "model_type": "siglip_vision_model"}
_TINY_LLAMA = {**_TINY_TEXT, "model_type": "llama"}
_TINY_QWEN2 = {**_TINY_TEXT, "model_type": "qwen2"}
_TINY_IMAGES = {"image_token_index": 60, "image_token_id": 60}
_TINY_QWEN_TOKENS = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}
_TINY_ROPE_3D = {
    "rope_scaling": {"type": "default", "rope_type": "default", "mrope_section": [1, 1, 2]},
    "rope_theta": 10000.0,
}
_TINY_QWEN_VISION = {"depth": 1, "embed_dim": 16, "hidden_size": 32, "num_heads": 2, "patch_size": 4}
_TINY_QWEN_VISION_2_5 = {"depth": 1, "hidden_size": 16, "out_hidden_size": 32, "intermediate_size": 24, "num_heads": 2}
_TINY_STATES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "state_size": 4,
    "num_hidden_layers": 2,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_TINY_PIXELS = {"num_labels": 3}
_TINY_NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_TINY_MOE = {
    "num_experts": 2,
    "num_local_experts": 2,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "intermediate_size_mlp": 48,
}
_TINY_LLAVA = {"vision_config": _TINY_CLIP, "text_config": _TINY_LLAMA, **_TINY_IMAGES, "vision_feature_layer": -1}

_TINY_T5 = {
    "vocab_size": 64,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 1,
    "num_decoder_layers": 1,
    "num_heads": 4,
    "dropout_rate": 0.0,
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
}
_TINY_BART = {
    "vocab_size": 64,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
_TINY_SWITCH = {"num_experts": 1, "router_jitter_noise": 0.0}
_TINY_HEARING = {"max_source_positions": 16, "max_target_positions": 64, "num_mel_bins": 8}

_ENCODER_DECODERS: dict[str, dict[str, Any]] = {
    "Bart": _TINY_BART,
    "BigBirdPegasus": {**_TINY_BART, "attention_type": "original_full"},
    "Blenderbot": _TINY_BART,
    "BlenderbotSmall": _TINY_BART,
    "FSMT": {
        **_TINY_BART,
        "langs": ["en", "de"],
        "src_vocab_size": 64,
        "tgt_vocab_size": 64,
    },
    "LED": {
        **_TINY_BART,
        "max_encoder_position_embeddings": 64,
        "max_decoder_position_embeddings": 64,
        "attention_window": [4],
    },
    "LongT5": {**_TINY_T5, "local_radius": 4},
    "M2M100": _TINY_BART,
    "Marian": _TINY_BART,
    "MBart": _TINY_BART,
    "MT5": _TINY_T5,
    "Mvp": _TINY_BART,
    "NllbMoe": {
        **_TINY_BART,
        "num_experts": 2,
        "encoder_sparse_step": 0,
        "decoder_sparse_step": 0,
    },
    "Pegasus": _TINY_BART,
    "PegasusX": {**_TINY_BART, "block_size": 4, "num_global_tokens": 4},
    "PLBart": _TINY_BART,
    "Speech2Text": {
        **_TINY_BART,
        **_TINY_HEARING,
        "conv_channels": 16,
        "input_feat_per_channel": 8,
    },
    "SwitchTransformers": {**_TINY_T5, **_TINY_SWITCH},
    "T5": _TINY_T5,
    "UMT5": _TINY_T5,
    "Whisper": {**_TINY_BART, **_TINY_HEARING},
}

# What makes each model of `trained` small, by the name of its configuration.
_FAMILIES: dict[str, dict[str, Any]] = {
    "AyaVision": {
        "vision_config": _TINY_SIGLIP,
        "text_config": {**_TINY_TEXT, "model_type": "cohere2"},
        **_TINY_IMAGES,
    },
    "Blip2": {
        "vision_config": _TINY_VISION,
        "qformer_config": {**_TINY_TEXT, "encoder_hidden_size": 16, **_TINY_NO_DROPOUT},
        "text_config": {**_TINY_TEXT, "model_type": "opt", "ffn_dim": 48, "word_embed_proj_dim": 32, "dropout": 0.0},
        **_TINY_IMAGES,
        "num_query_tokens": 4,
    },
    "Bloom": {"vocab_size": 64, "hidden_size": 32, "n_layer": 2, "n_head": 4, **_TINY_NO_DROPOUT},
    "ConvNext": {**_TINY_PIXELS, "hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "image_size": 32},
    "ConvNextV2": {**_TINY_PIXELS, "hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "image_size": 32},
    "FalconMamba": _TINY_STATES,
    "GPTNeoX": _TINY_TEXT,
    "Gemma3": {
        "vision_config": _TINY_SIGLIP,
        "text_config": {**_TINY_TEXT, "model_type": "gemma3_text"},
        **_TINY_IMAGES,
        "mm_tokens_per_image": 4,
    },
    "Gemma3n": {
        "text_config": {
            **_TINY_TEXT,
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
        "text_config": {**_TINY_TEXT, **_TINY_ROPE_3D},
        "vision_config": {**_TINY_QWEN_VISION_2_5, "image_size": 28, "patch_size": 14},
        **_TINY_QWEN_TOKENS,
    },
    "Janus": {
        "text_config": _TINY_LLAMA,
        "vision_config": {**_TINY_VISION, "model_type": "janus_vision_model", "num_image_tokens": 4},
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
        "text_config": {
            **_TINY_TEXT,
            **_TINY_MOE,
            "num_local_experts": 1,
            "num_experts_per_tok": 1,
            "use_cache": False,
        },
        "vision_config": {
            **_TINY_VISION,
            "intermediate_size": 64,
            "vision_output_dim": 32,
            "projector_input_dim": 16,
            "projector_output_dim": 16,
        },
        **_TINY_IMAGES,
    },
    "Llava": _TINY_LLAVA,
    "LlavaNext": {**_TINY_LLAVA, "image_grid_pinpoints": [[8, 8]]},
    "LlavaNextVideo": {**_TINY_LLAVA, "image_grid_pinpoints": [[8, 8]], "video_token_index": 61},
    "LlavaOnevision": {
        **_TINY_LLAVA,
        "vision_config": _TINY_SIGLIP,
        "text_config": _TINY_QWEN2,
        "image_grid_pinpoints": [[8, 8]],
        "video_token_index": 61,
    },
    "Mamba2": {**_TINY_STATES, "num_heads": 8, "head_dim": 8, "n_groups": 2, "chunk_size": 8},
    "Mamba": _TINY_STATES,
    "Mistral3": {
        **_TINY_LLAVA,
        "vision_config": {**_TINY_VISION, "model_type": "pixtral"},
        "text_config": {**_TINY_TEXT, "model_type": "mistral"},
    },
    "ModernBertDecoder": {**_TINY_TEXT, "cls_token_id": 3, "sep_token_id": 4},
    "ModernBert": {**_TINY_TEXT, "cls_token_id": 3, "sep_token_id": 4, "reference_compile": False},
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
        "vision_config": _TINY_SIGLIP,
        "text_config": {**_TINY_TEXT, "model_type": "gemma"},
        **_TINY_IMAGES,
        "projection_dim": 32,
    },
    "Phi4Multimodal": {
        **_TINY_TEXT,
        "vision_config": {**_TINY_VISION, "image_size": 28, "crop_size": 28, "image_token_id": 60},
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
    "Qwen2VL": {**_TINY_TEXT, **_TINY_ROPE_3D, **_TINY_QWEN_TOKENS, "vision_config": _TINY_QWEN_VISION},
    "Qwen2_5OmniThinker": {
        "text_config": {**_TINY_TEXT, **_TINY_ROPE_3D},
        "vision_config": _TINY_QWEN_VISION_2_5,
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
    "Qwen2_5_VL": {**_TINY_TEXT, **_TINY_ROPE_3D, **_TINY_QWEN_TOKENS, "vision_config": _TINY_QWEN_VISION_2_5},
    "Qwen3OmniMoeThinker": {
        "text_config": {**_TINY_TEXT, **_TINY_MOE, **_TINY_ROPE_3D},
        "vision_config": {**_TINY_QWEN_VISION_2_5, "num_position_embeddings": 4, "deepstack_visual_indexes": [0]},
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
        **_TINY_PIXELS,
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
        **_TINY_PIXELS,
        "image_size": 32,
        "embed_dim": 8,
        "depths": [1, 1],
        "num_heads": [1, 2],
        "window_size": 4,
        "drop_path_rate": 0.0,
    },
    "VideoLlava": {**_TINY_LLAVA, "video_token_index": 61},
    "VipLlava": {**_TINY_LLAVA, "vision_feature_layers": [-1, -1]},
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
        **_TINY_TEXT,
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
    **_ENCODER_DECODERS,
}

# 5.4.0 refuses its own defaults: it declares integers where they are truth values.
_INTEGERS = {
    "M2M100": {"scale_embedding": 1},
    "MBart": {"scale_embedding": 0},
    "Mvp": {"is_encoder_decoder": 1},
}


def trained(testbed: Testbed, cls: Any) -> Any:
    """A tiny model of a class that the Trainer trains: of those in `_FAMILIES`, without dropout."""
    family, module, version = _family(cls), import_module(cls.__module__), import_module("transformers").__version__
    arguments = deepcopy(_FAMILIES[family])
    if family == "Llama4" and version in ("5.0.0", "5.1.0"):
        arguments["pad_token_id"] = 0  # these two look for it beside the configuration of the text, and it is not there
    if version == "5.4.0":
        arguments.update(_INTEGERS.get(family, {}))
    config = getattr(module, f"{family}Config")(**arguments)
    with _without_towers(module) if family == "Gemma3n" else nullcontext():
        return testbed.fill(cls(config))


def samples_for(testbed: Testbed, cls: Any) -> list[dict[str, Any]]:
    """Four samples for a model of `trained`, with equally many labels each."""
    family, name = _family(cls), cls.__name__
    if family in _ENCODER_DECODERS:
        columns = {"labels": testbed.randint(5, 48, 4, 8, seed=2), "input_ids": testbed.randint(5, 48, 4, 8, seed=1)}
    else:
        ids = testbed.randint(5, 48, 4, 9, seed=1)
        columns = {"labels": ids.clone(), "input_ids": ids}
        columns["labels"][:, :5] = -100
    if "Classification" in name:
        columns["labels"] = testbed.randint(0, 3, 4, seed=2)
    if "Image" in name:
        columns = {"labels": columns["labels"], "pixel_values": testbed.randn(4, 3, 32, 32)}
    if family == "Moonshine":
        columns = {"labels": columns["labels"], "input_values": testbed.randn(4, 4000)}
    if family in ("Whisper", "Speech2Text"):
        sound = testbed.randn(4, 8, 32) if family == "Whisper" else testbed.randn(4, 32, 8)
        columns = {"labels": columns["labels"], "input_features": sound}
    if family == "Blip2":
        columns["pixel_values"] = testbed.randn(4, 3, 8, 8)
        columns["input_ids"][:, 1:5] = 60  # an image takes the place of four tokens
    if name == "Gemma3ForConditionalGeneration":
        columns["token_type_ids"] = columns["input_ids"] * 0
    return [{key: column[row].cpu() for key, column in columns.items()} for row in range(4)]


def _family(cls: Any) -> str:
    """What the configuration of a class is called, up to "Config"."""
    name: str = cls.__name__
    return name.removesuffix("Model").removesuffix("MT").partition("For")[0]


@contextmanager
def _without_towers(module: Any) -> Iterator[None]:
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


# -- pictures and processors -------------------------------------------------------------------------------------------


def picture(height: int = 420, width: int = 560) -> Any:
    """Stripes, circles and a gradient, as a PIL image."""
    import numpy
    from PIL import Image

    rows, columns = numpy.mgrid[:height, :width]
    stripes = (rows * 7 + columns * 3) % 256
    circles = numpy.hypot(rows - height / 2, columns - width / 2) * 2 % 256
    gradient = columns * 255 // width
    return Image.fromarray(numpy.stack([stripes, circles, gradient], axis=-1).astype(numpy.uint8))


def qwen_processor(cls: Any, image_processor: Any) -> Any:
    """A processor of Qwen's with a tokenizer that knows one word and the tokens of a picture and of a video."""
    from tokenizers import Tokenizer, models
    from transformers import Qwen2TokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "stripes": 1}, unk_token="<unk>"))
    words.add_special_tokens(["<|image_pad|>", "<|video_pad|>", "<|endoftext|>"])
    return cls(image_processor, Qwen2TokenizerFast(tokenizer_object=words))


# -- targets -----------------------------------------------------------------------------------------------------------


def class_of(target: Target) -> Any:
    """The class in which a target stands."""
    return getattr(import_module(target.module), target.qualname.partition(".")[0])
