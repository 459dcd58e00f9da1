"""The small models of the proofs: one builder for each, with its configuration, and inputs for it.

Every builder takes the `Testbed` of a case, gives seeded weights through it, and works on every release that its proof
runs on. torch and transformers are imported where they are used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed

# -- decoders ----------------------------------------------------------------------------------------------------------

_DECODER = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
# Every expert sees every token: a choice between experts may fall either way when rounding differs.
_MIXTURE = {"num_local_experts": 2, "num_experts_per_tok": 2}
_MIXTURE_OF_QWEN = {
    "num_experts": 2,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "decoder_sparse_step": 1,
}
_ONE_EXPERT_SHARED = {**_MIXTURE_OF_QWEN, "shared_expert_intermediate_size": 32}
_VISION_OF_QWEN2 = {"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 4}
_VISION_OF_QWEN2_5 = {"depth": 1, "hidden_size": 32, "out_hidden_size": 64, "intermediate_size": 48, "num_heads": 2}
_TOKENS_OF_QWEN = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}


def llama(testbed: Testbed, **options: Any) -> Any:
    """A small decoder; `options` as for `Testbed.model`."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return testbed.model(LlamaForCausalLM, LlamaConfig(**_DECODER), **options)


def gpt2(testbed: Testbed, **options: Any) -> Any:
    """A small GPT-2 without dropout; `options` as for `Testbed.model`."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=64,
        n_positions=64,
        n_embd=64,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    return testbed.model(GPT2LMHeadModel, config, **options)


# -- decoders with a sliding window ------------------------------------------------------------------------------------

WINDOW = 4  # keys that a query sees, itself included

_JAMBA = {
    "num_experts": 1,
    "num_experts_per_tok": 1,
    "attn_layer_period": 1,
    "attn_layer_offset": 0,
    "use_mamba_kernels": False,
}

_IMAGES = {
    "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
    "vision_config": _VISION_OF_QWEN2,
    **_TOKENS_OF_QWEN,
}

# For the last part of a package's name: how its classes begin and end, and what its configuration has besides.
_FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gemma2": ("Gemma2", "ForCausalLM", {"head_dim": 16, "query_pre_attn_scalar": 16}),
    "jamba": ("Jamba", "ForCausalLM", _JAMBA),
    "mistral": ("Mistral", "ForCausalLM", {}),
    "mixtral": ("Mixtral", "ForCausalLM", _MIXTURE),
    "phi3": ("Phi3", "ForCausalLM", {}),
    "qwen2": ("Qwen2", "ForCausalLM", {"use_sliding_window": True}),
    "qwen2_moe": ("Qwen2Moe", "ForCausalLM", {"use_sliding_window": True, **_ONE_EXPERT_SHARED}),
    "qwen2_vl": ("Qwen2VL", "ForConditionalGeneration", {"use_sliding_window": True, **_IMAGES}),
    "starcoder2": ("Starcoder2", "ForCausalLM", {}),
}


def windowed(testbed: Testbed, family: str, layers: int = 2, **options: Any) -> Any:
    """A small decoder all of whose layers, or in Gemma2 every second from the first on, have a sliding window.

    Args:
        testbed: where it runs.
        family: the last part of the name of its package, such as ``qwen2_moe``.
        layers: how many it has.
        options: as for `Testbed.model`.
    """
    from packaging.version import Version

    transformers = import_module("transformers")
    name, kind, particular = _FAMILIES[family]
    given = {**_DECODER, **_TOKENS, "sliding_window": WINDOW, **particular, "num_hidden_layers": layers}
    if "use_sliding_window" in given:
        # Up to 4.42.4 the layers below this number have the window, later those from it on.
        given["max_window_layers"] = layers if Version(transformers.__version__) < Version("4.43.0") else 0
    config = getattr(transformers, name + "Config")(**given)
    return testbed.model(getattr(transformers, name + kind), config, **options)


# -- decoders with a cache ---------------------------------------------------------------------------------------------

_ROPE_3D = {"rope_scaling": {"type": "default", "rope_type": "default", "mrope_section": [2, 3, 3]}}
_SOUND = {
    "hidden_size": 64,
    "num_filters": 4,
    "upsampling_ratios": [2, 2],
    "upsample_groups": 64,
    "codebook_size": 32,
    "codebook_dim": 16,
    "vector_quantization_hidden_dimension": 16,
    "num_quantizers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "num_hidden_layers": 2,
    "intermediate_size": 96,
}
_SPEECH = {"ffn_dim": 96, "num_codebooks": 4, "num_key_value_heads": 4}

# For a class that has the check: the model that is built, its configuration, and what that has besides.
_CACHED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "JetMoeModel": ("JetMoeForCausalLM", "JetMoeConfig", {**_MIXTURE, "kv_channels": 16}),
    "KyutaiSpeechToTextModel": (
        "KyutaiSpeechToTextModel",
        "KyutaiSpeechToTextConfig",
        {
            **_SPEECH,
            "codebook_vocab_size": 32,
            "audio_pad_token_id": 192,
            "codec_config": {"model_type": "mimi", **_SOUND},
            "rope_theta": 10000.0,  # its default has changed in 5.0.0
        },
    ),
    "MimiTransformerModel": ("MimiModel", "MimiConfig", _SOUND),
    "MistralModel": ("MistralForCausalLM", "MistralConfig", {}),
    "MixtralModel": ("MixtralForCausalLM", "MixtralConfig", _MIXTURE),
    "MoshiDepthDecoder": (
        "MoshiDepthDecoder",
        "MoshiDepthConfig",
        {**_SPEECH, "num_codebooks": 9, "audio_vocab_size": 64, "input_size": 64, "sliding_window": 16},
    ),
    "MoshiModel": ("MoshiForCausalLM", "MoshiConfig", {**_SPEECH, "audio_encoder_config": _SOUND}),
    "Phi3Model": ("Phi3ForCausalLM", "Phi3Config", {}),
    "Phi4MultimodalModel": (
        "Phi4MultimodalForCausalLM",
        "Phi4MultimodalConfig",
        {
            "vision_config": {**_DECODER, **_TOKENS, "image_size": 28, "crop_size": 28, "image_token_id": 60},
            "audio_config": {
                "hidden_size": 64,
                "intermediate_size": 96,
                "num_blocks": 1,
                "num_attention_heads": 4,
                "ext_pw_out_channel": 64,
                "depthwise_seperable_out_channel": 64,
                "nemo_conv_channels": 64,
                "audio_token_id": 61,
            },
        },
    ),
    "PhimoeModel": ("PhimoeForCausalLM", "PhimoeConfig", _MIXTURE),
    "Qwen2Model": ("Qwen2ForCausalLM", "Qwen2Config", {}),
    "Qwen2MoeModel": (
        "Qwen2MoeForCausalLM",
        "Qwen2MoeConfig",
        _ONE_EXPERT_SHARED,
    ),
    "Qwen2VLModel": (
        "Qwen2VLForConditionalGeneration",
        "Qwen2VLConfig",
        {**_ROPE_3D, **_TOKENS_OF_QWEN, "vision_config": _VISION_OF_QWEN2},
    ),
    "Qwen2VLTextModel": (
        "Qwen2VLForConditionalGeneration",
        "Qwen2VLConfig",
        {**_ROPE_3D, **_TOKENS_OF_QWEN, "vision_config": _VISION_OF_QWEN2},
    ),
    "Qwen2_5OmniTalkerModel": (
        "Qwen2_5OmniTalkerModel",
        "Qwen2_5OmniTalkerConfig",
        {**_ROPE_3D, "embedding_size": 64, "head_dim": 16},
    ),
    "Qwen2_5OmniThinkerTextModel": ("Qwen2_5OmniThinkerTextModel", "Qwen2_5OmniTextConfig", _ROPE_3D),
    "Qwen2_5_VLModel": (
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen2_5_VLConfig",
        {**_ROPE_3D, **_TOKENS_OF_QWEN, "vision_config": _VISION_OF_QWEN2_5},
    ),
    "Qwen2_5_VLTextModel": (
        "Qwen2_5_VLForConditionalGeneration",
        "Qwen2_5_VLConfig",
        {**_ROPE_3D, **_TOKENS_OF_QWEN, "vision_config": _VISION_OF_QWEN2_5},
    ),
    "Qwen3Model": ("Qwen3ForCausalLM", "Qwen3Config", {"head_dim": 16}),
    "Qwen3MoeModel": ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", {**_MIXTURE_OF_QWEN, "head_dim": 16}),
    "Starcoder2Model": ("Starcoder2ForCausalLM", "Starcoder2Config", {}),
}


def cached_class(kind: str) -> str:
    """The name of the class whose object `cached` makes."""
    return _CACHED[kind][0]


def cached(testbed: Testbed, module: str, kind: str, **options: Any) -> Any:
    """A small model that runs a decoder, most with a cache.

    Args:
        testbed: where it runs.
        module: where the decoder and the model are defined.
        kind: the class of the decoder.
        options: as for `Testbed.model`.
    """
    modeling = import_module(module)
    model, config, particular = _CACHED[kind]
    given = {**_DECODER, **_TOKENS, **particular}
    return testbed.model(getattr(modeling, model), getattr(modeling, config)(**given), **options)


# -- Qwen2.5 cast to bfloat16 as a whole, buffers too: what DeepSpeed and model.to(torch.bfloat16) do -----------------

_WINDOWED_VISION = {
    "depth": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_heads": 4,
    "out_hidden_size": 64,
    "window_size": 56,
    "fullatt_block_indexes": [1],
}
_GRID = ((1, 4, 8), (1, 4, 4))  # two images: frames, rows and columns of patches


def qwen2_5_vl_with_images(testbed: Testbed) -> tuple[Any, dict[str, torch.Tensor]]:
    """A small Qwen2.5-VL in training, and two sentences with an image each and their labels."""
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    image, video, start, text = 60, 62, 61, 50
    config = Qwen2_5_VLConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_config=_WINDOWED_VISION,
    )
    model = testbed.model(Qwen2_5_VLForConditionalGeneration, config).to(torch.bfloat16).train()
    rows = []
    for number, (frames, height, width) in enumerate(_GRID):
        seen = [start] + [image] * (frames * height * width // 4)  # one token for 2 x 2 patches
        words = testbed.randint(0, text, 20 - len(seen), seed=number).tolist()
        rows.append(words[:3] + seen + words[3:])
    input_ids = torch.tensor(rows, device=testbed.device)
    patches = sum(frames * height * width for frames, height, width in _GRID)
    return model, {
        "input_ids": input_ids,
        "labels": input_ids,
        "attention_mask": torch.ones_like(input_ids),
        "pixel_values": testbed.randn(patches, 3 * 2 * 14 * 14, dtype=torch.bfloat16),
        "image_grid_thw": torch.tensor(_GRID, device=testbed.device),
    }


def omni_vision(testbed: Testbed) -> tuple[Any, dict[str, torch.Tensor]]:
    """The small vision encoder of a Qwen2.5-Omni in training, and two images."""
    import torch
    from transformers.models.qwen2_5_omni.configuration_qwen2_5_omni import Qwen2_5OmniVisionEncoderConfig
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import Qwen2_5OmniVisionEncoder

    model = testbed.model(Qwen2_5OmniVisionEncoder, Qwen2_5OmniVisionEncoderConfig(**_WINDOWED_VISION))
    model = model.to(torch.bfloat16).train()
    patches = sum(frames * height * width for frames, height, width in _GRID)
    pixels = testbed.randn(patches, 3 * 2 * 14 * 14, dtype=torch.bfloat16)
    return model, {"hidden_states": pixels, "grid_thw": torch.tensor(_GRID, device=testbed.device)}


# -- Qwen's vision-language models -------------------------------------------------------------------------------------

# -- other vision-language models --------------------------------------------------------------------------------------

# -- vision towers -----------------------------------------------------------------------------------------------------

# -- models for the Trainer --------------------------------------------------------------------------------------------

# -- pictures and processors -------------------------------------------------------------------------------------------
