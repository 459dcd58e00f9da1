"""The small models of the proofs: one builder for each, with its configuration, and inputs for it.

Every builder takes the `Testbed` of a case, gives seeded weights through it, and works on every release that its proof
runs on. transformers is imported where it is used.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from importlib import import_module
from typing import Any, Optional

import torch

from .testbed import Target, Testbed

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


def gemma(testbed: Testbed, **options: Any) -> Any:
    """A small decoder of Google's first family; `options` as for `Testbed.model`."""
    from transformers import GemmaConfig, GemmaForCausalLM

    return testbed.model(GemmaForCausalLM, GemmaConfig(**_DECODER, head_dim=16), **options)


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
    "gemma2": (
        "Gemma2",
        "ForCausalLM",
        {"head_dim": 16, "query_pre_attn_scalar": 16, "attn_logit_softcapping": 50.0},
    ),
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


def windowed_cohere2(testbed: Testbed, **options: Any) -> Any:
    """A small Cohere 2 whose first layer of two has a sliding window; `options` as for `Testbed.model`."""
    from transformers import Cohere2Config, Cohere2ForCausalLM

    config = Cohere2Config(**_DECODER, **_TOKENS, sliding_window=WINDOW, sliding_window_pattern=2)
    return testbed.model(Cohere2ForCausalLM, config, **options)


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
    from transformers.models.qwen2_5_omni.configuration_qwen2_5_omni import Qwen2_5OmniVisionEncoderConfig
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import Qwen2_5OmniVisionEncoder

    model = testbed.model(Qwen2_5OmniVisionEncoder, Qwen2_5OmniVisionEncoderConfig(**_WINDOWED_VISION))
    model = model.to(torch.bfloat16).train()
    patches = sum(frames * height * width for frames, height, width in _GRID)
    pixels = testbed.randn(patches, 3 * 2 * 14 * 14, dtype=torch.bfloat16)
    return model, {"hidden_states": pixels, "grid_thw": torch.tensor(_GRID, device=testbed.device)}


# -- Qwen's vision-language models -------------------------------------------------------------------------------------

QWEN_IMAGE, QWEN_VIDEO = 61, 62  # token ids
_QWEN_PAD, _QWEN_WORDS, _QWEN_VISION_START = 0, 50, 60


def qwen_vl(testbed: Testbed, cls: Any, dtype: Optional[torch.dtype] = None, attn: str = "sdpa") -> Any:
    """A small model of a class that has a text and a vision part, with the token ids above.

    ``image_grid_thw`` alone describes the images: without pixels the model takes the embeddings of the image tokens.
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
    """The result of the method ``get_rope_index`` of any release.

    Args:
        model: has the method.
        ids: token ids without padding, (batch, tokens).
        images: frames, rows and columns of patches.
        videos: the same.
        seconds: ``second_per_grid_ts``, for each video.

    Returns:
        Positions of shape (3, batch, tokens), and ``rope_deltas``.
    """
    arguments: dict[str, Any] = {
        "mm_token_type_ids": (ids == QWEN_IMAGE).int() + 2 * (ids == QWEN_VIDEO).int(),
        "image_grid_thw": torch.tensor(images, device=ids.device) if images else None,
        "video_grid_thw": torch.tensor(videos, device=ids.device) if videos else None,
        "second_per_grid_ts": seconds,
    }
    known = inspect.signature(model.get_rope_index).parameters
    positions, deltas = model.get_rope_index(ids, **{name: value for name, value in arguments.items() if name in known})
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
    for name, parameter in model.named_parameters():
        if is_of_an_expert(name):
            parameter.data.zero_()
    return model


def is_of_an_expert(name: str) -> bool:
    """5.0 lays the weights of experts out anew: they are zero here, and not compared."""
    return ".experts." in name


def qwen_image_positions(before: int = 3) -> torch.Tensor:
    """Positions of words, an image of 2 x 3 tokens and 3 words: time, height and width, (3, 1, tokens).

    Args:
        before: how many words there are before the image.
    """
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
    types = torch.tensor([[int(letter == "i") for letter in row] for row in layouts], device=testbed.device)
    real = torch.tensor([[int(letter != "_") for letter in row] for row in layouts], device=testbed.device)
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

# The settings that make each model small, where they are not `TOWER` or `TOWER_TEXT`, by the name of its configuration.
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
    images, rows, columns = PATCH_IMAGES[shape]
    mask = torch.ones(images, rows, columns, dtype=torch.bool, device=testbed.device)
    if shape == "padded":
        for row, (below, right) in zip(mask, _PADDED):
            row[below:], row[:, right:] = False, False
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

    The first token of a text is never predicted, and releases differ in whether they count it.
    """
    ids = testbed.randint(0, 32, 4, 9, seed=1).cpu()
    labels = ids.clone()
    for row, first in enumerate(firsts):
        labels[row, :first] = -100
    return [{"input_ids": id, "labels": label} for id, label in zip(ids, labels)]


def classified(testbed: Testbed) -> list[dict[str, Any]]:
    """Four texts with a class each."""
    ids, labels = testbed.randint(0, 32, 4, 9, seed=1).cpu(), testbed.randint(0, 3, 4, seed=2).cpu()
    return [{"input_ids": first, "labels": label} for first, label in zip(ids, labels)]


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

# The settings that make each model of `trained` small, by the name of its configuration.
_TRAINED: dict[str, dict[str, Any]] = {
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
    """A tiny model of a class that the Trainer trains: of those in `_TRAINED`, without dropout."""
    family, module, version = _family(cls), import_module(cls.__module__), import_module("transformers").__version__
    arguments = deepcopy(_TRAINED[family])
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
    """The name of the configuration of a class, up to "Config"."""
    name: str = cls.__name__
    return name.removesuffix("Model").removesuffix("MT").partition("For")[0]


@contextmanager
def _without_towers(module: Any) -> Iterator[None]:
    """Sound and images are not looked at; what looks at them would need timm."""
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
    """The class that contains a target."""
    return getattr(import_module(target.module), target.qualname.partition(".")[0])
