"""Small models that write what they see or hear, and what they are trained on."""

from copy import deepcopy
from importlib import import_module
from typing import Any

import torch

from hotfix.proofs.testbed import Testbed

_IDS = {"vocab_size": 48, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_TEXT = {
    **_IDS,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 64,
}
_BART = {
    **_IDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "dropout": 0.0,
    "decoder_start_token_id": 2,
}
_PIXELS = {
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 8,
    "patch_size": 4,
}
_STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "CohereAsr": {
        **_TEXT,
        "is_encoder_decoder": True,
        "decoder_start_token_id": 1,
        "encoder_config": {
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "intermediate_size": 48,
            "num_mel_bins": 16,
            "subsampling_conv_channels": 8,
            "conv_kernel_size": 3,
            "max_position_embeddings": 64,
        },
    },
    "Florence2": {
        "text_config": {**_BART, "model_type": "bart"},
        "vision_config": {
            "depths": [1],
            "patch_size": [3],
            "patch_stride": [2],
            "patch_padding": [1],
            "patch_prenorm": [False],
            "embed_dim": [16],
            "num_heads": [2],
            "num_groups": [2],
            "window_size": 4,
            "projection_dim": 32,
        },
        "is_encoder_decoder": True,
        "tie_word_embeddings": True,  # or 5.0.0 does not
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    },
    "Git": {**_TEXT, **_STILL, "vision_config": _PIXELS},
    "JetMoe": {**_TEXT, "kv_channels": 8, "num_local_experts": 4, "num_key_value_heads": 2, "num_attention_heads": 4},
    "Moonshine": {
        **_IDS,
        "hidden_size": 32,
        "intermediate_size": 48,
        "encoder_num_hidden_layers": 2,
        "decoder_num_hidden_layers": 2,
        "encoder_num_attention_heads": 2,
        "decoder_num_attention_heads": 2,
        "decoder_start_token_id": 1,
    },
    "MoonshineStreaming": {
        **_TEXT,
        "decoder_start_token_id": 1,
        "encoder_config": {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "sliding_windows": [[16, 4]],
        },
    },
    "Moshi": {**_TEXT, "ffn_dim": 48, "audio_vocab_size": 32, "num_codebooks": 2, "sliding_window": 64},
    "PPFormulaNet": {
        "text_config": {**_BART, "init_std": 0.02},
        "vision_config": {
            **_PIXELS,
            "output_channels": 8,
            "window_size": 2,
            "global_attn_indexes": [0],
            "mlp_dim": 24,
            "post_conv_in_channels": 8,
            "post_conv_mid_channels": 8,
            "post_conv_out_channels": 32,
            "decoder_hidden_size": 32,
        },
    },
}


def writer(testbed: Testbed, cls: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    """A tiny model of a class, and two samples with labels: seven tokens, and five with two of padding, masked.

    Args:
        testbed: gives weights and inputs.
        cls: `VisionEncoderDecoderModel`, or one whose configuration is above.
    """
    name = cls.__name__.removesuffix("ForCausalLM").removesuffix("ForConditionalGeneration")
    config = _encoder_and_decoder() if name == "VisionEncoderDecoderModel" else _configuration(cls, name)
    model = testbed.fill(cls(config)).to(testbed.device).eval()
    labels = testbed.randint(5, 48, 2, 7, seed=1)
    labels[1, 5:] = -100
    inputs = {"labels": labels}
    if name == "CohereAsr":
        inputs["input_features"] = testbed.randn(2, 64, 16, seed=2)
    elif name.startswith("Moonshine"):
        inputs["input_values"] = testbed.randn(2, 4000, seed=2)
    elif name in ("PPFormulaNet", "VisionEncoderDecoderModel"):
        inputs["pixel_values"] = testbed.randn(2, 3, 8, 8, seed=2)
    elif name == "Florence2":
        inputs["input_ids"] = testbed.randint(5, 48, 2, 9, seed=2)
    else:
        inputs.update(input_ids=labels.clamp(min=0), attention_mask=(labels >= 0).long())
    if name == "Git":
        inputs["pixel_values"] = testbed.randn(2, 3, 8, 8, seed=2)
    if name in ("Florence2", "PPFormulaNet"):  # not every release makes them of the labels
        started = labels.new_full((2, 1), 2)
        inputs["decoder_input_ids"] = import_module("torch").cat([started, labels[:, :-1].clamp(min=0)], dim=1)
    return model, inputs


def _configuration(cls: Any, name: str) -> Any:
    module = import_module(cls.__module__.replace("modeling", "configuration"))
    return getattr(module, f"{name}Config")(**deepcopy(_CONFIGURATIONS[name]))


def _encoder_and_decoder() -> Any:
    from transformers import TrOCRConfig, VisionEncoderDecoderConfig, ViTConfig

    decoder = TrOCRConfig(
        **{key: value for key, value in _BART.items() if key.partition("_")[0] != "encoder"},
        cross_attention_hidden_size=16,
    )
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(ViTConfig(**_PIXELS, **_STILL), decoder)
    config.pad_token_id, config.decoder_start_token_id = 0, 2
    return config
