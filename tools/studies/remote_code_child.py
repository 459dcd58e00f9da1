"""A child of `tools.studies.remote_code`: the model code of real repositories, run as its users do, on one release.

    python -m tools.studies.remote_code_child ORDER

ORDER is a JSON file: the folders of the repositories, the cases to run, where checkpoints lie and where the results go.
Each case runs in a fork of a process that has imported transformers and nothing of its models. A case has stages, each
of which needs the one before:

import    of the file with the model
build     a tiny model from a configuration
load      the same from a checkpoint, which was written where the case first got this far
forward   one batch without padding
generate  six tokens, greedily, the first prompt padded on the left

The code of the repositories is not part of this project. This file only says how each of them is called.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import json
import os
import shutil
import signal
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

STAGES = ("import", "build", "load", "forward", "generate")
PROMPT = torch.tensor([[5, 9, 17, 33, 12], [7, 3, 11, 23, 8]])
PADDED = torch.tensor([[0, 0, 5, 9, 17], [7, 3, 11, 23, 8]])
MASK = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
TOKENS: dict[str, Any] = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
LIMIT = 120  # seconds a case may take

Results = dict[str, torch.Tensor]


@dataclass
class Case:
    """How one model of a repository is called.

    Attributes:
        name: as the page calls it.
        repository: owner/name.
        folder: of the file, within the repository.
        model: "module.Class" of the model, and `config` of its configuration.
        config: likewise.
        options: of the configuration.
        flat: the folder is what a checkpoint on the hub has: it is loaded by `trust_remote_code`. Otherwise it is a
            project: `folder` is put on the path, and packages on the way to the module run no `__init__` of theirs.
        forward: from the model to its logits; `generate`: from the model to tokens.
        generate: likewise.
        prepare: done after the import, with the module.
        stubs: third-party modules that are empty here: what the module takes from them at its top is not used.
        package: the name under which the folder itself is a package, where it has relative imports.
        files: what else a checkpoint has, empty.
        note: what the page says of it.
    """

    name: str
    repository: str
    folder: str
    model: str
    config: str
    options: dict[str, Any] = field(default_factory=dict)
    flat: bool = False
    forward: Callable[[Any], torch.Tensor] = lambda model: model(PROMPT, attention_mask=torch.ones_like(PROMPT)).logits
    generate: Callable[[Any], torch.Tensor] = lambda model: model.generate(PADDED, attention_mask=MASK, **TOKENS)
    prepare: Callable[[Any], None] = lambda module: None
    stubs: tuple[str, ...] = ()
    package: str = ""
    files: tuple[str, ...] = ()
    note: str = ""


SMALL = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
QWEN = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "kv_channels": 8,
    "intermediate_size": 64,
    "fp32": True,
    "seq_length": 64,
    "use_flash_attn": False,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
PICTURE = {
    "drop_path_rate": 0.0,
    "dim_embed": [16, 32],
    "num_heads": [2, 4],
    "num_groups": [2, 4],
    "depths": [1, 1],
    "patch_size": [7, 3],
    "patch_stride": [4, 2],
    "patch_padding": [3, 1],
    "patch_prenorm": [False, True],
    "window_size": 4,
    "projection_dim": 32,
    "visual_temporal_embedding": {"type": "COSINE", "max_temporal_embeddings": 4},
    "image_pos_embed": {"type": "learned_abs_2d", "max_pos_embeddings": 8},
    "image_feature_source": ["spatial_avg_pool", "temporal_avg_pool"],
    "model_type": "davit",
}
FLORENCE = {
    "vocab_size": 64,
    "projection_dim": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "vision_config": PICTURE,
    "text_config": {
        "vocab_size": 64,
        "d_model": 32,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 4,
        "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64,
        "max_position_embeddings": 128,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "forced_bos_token_id": 1,
        "model_type": "florence2_language",
    },
}


def pictures(size: int, count: int = 2) -> torch.Tensor:
    """Pictures that are the same everywhere."""
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(0))


def florence_forward(model: Any) -> torch.Tensor:
    """Logits for a question, a picture and an answer."""
    labels = torch.tensor([[5, 6, 7, 2], [8, 9, 10, 2]])
    return model(input_ids=PROMPT, pixel_values=pictures(32), labels=labels).logits


def florence_generate(model: Any) -> torch.Tensor:
    """Three beams, as its model card does."""
    return model.generate(input_ids=PROMPT, pixel_values=pictures(32), max_new_tokens=6, num_beams=3, do_sample=False)


def internvl_forward(model: Any) -> torch.Tensor:
    """Logits for a picture in four tokens."""
    model.img_context_token_id = 60
    tokens = torch.tensor([[5, 60, 60, 60, 60, 9], [7, 60, 60, 60, 60, 8]])
    flags = torch.ones(2, 1, dtype=torch.long)
    return model(
        pixel_values=pictures(28), input_ids=tokens, attention_mask=torch.ones_like(tokens), image_flags=flags
    ).logits


def internvl_generate(model: Any) -> torch.Tensor:
    """Tokens for the same, the first prompt padded."""
    model.img_context_token_id = 60
    tokens = torch.tensor([[0, 5, 60, 60, 60, 60, 9], [7, 7, 60, 60, 60, 60, 8]])
    return model.generate(pixel_values=pictures(28), input_ids=tokens, attention_mask=tokens.ne(0).long(), **TOKENS)


def moondream_picture() -> Any:
    """A picture that is the same everywhere."""
    from PIL import Image

    return Image.frombytes("RGB", (56, 56), bytes(i * 7 % 251 for i in range(56 * 56 * 3)))


def moondream_forward(model: Any) -> torch.Tensor:
    """The part of its cache that belongs to a picture."""
    model._setup_caches()
    return torch.cat([tensor.flatten() for pair in model.encode_image(moondream_picture()).caches for tensor in pair])


def moondream_generate(model: Any) -> torch.Tensor:
    """A caption, as bytes."""
    settings = {"temperature": 0, "max_tokens": 6, "top_p": 0.3, "variant": None}
    text = model.caption(moondream_picture(), length="short", stream=False, settings=settings)["caption"]
    return torch.tensor(list(text.encode()))


def moondream_prepare(module: Any) -> None:
    """The tokenizer lies on the hub: a small one replaces it."""
    from tokenizers import Tokenizer, models

    words = Tokenizer(models.WordLevel({f"w{n}": n for n in range(64)}, unk_token="w0"))
    inner = sys.modules[module.__name__.replace("hf_moondream", "moondream")]
    inner.Tokenizer = types.SimpleNamespace(from_pretrained=lambda name: words)  # type: ignore[attr-defined]


def got_prepare(module: Any) -> None:
    """No picture goes in: its tower, 80 million parameters, stays out."""
    module.build_vary_vit_b = torch.nn.Identity


def mplug_prepare(module: Any) -> None:
    """As the project's builder does."""
    module.replace_llama_modality_adaptive()


MOONDREAM = {
    "config": {
        "text": {
            "dim": 128,
            "ff_dim": 64,
            "n_layers": 2,
            "vocab_size": 64,
            "max_context": 2048,
            "n_heads": 2,
            "n_kv_heads": 2,
            "prefix_attn": 730,
        },
        "vision": {
            "enc_dim": 32,
            "enc_patch_size": 14,
            "enc_n_layers": 27,
            "enc_ff_dim": 64,
            "enc_n_heads": 4,
            "proj_out_dim": 128,
            "crop_size": 378,
            "max_crops": 2,
            "overlap_margin": 4,
            "proj_inner_dim": 64,
        },
        "region": {
            "dim": 128,
            "coord_feat_dim": 16,
            "coord_out_dim": 32,
            "size_feat_dim": 16,
            "size_out_dim": 64,
            "inner_dim": 64,
        },
        "tokenizer": {
            "bos_id": 0,
            "eos_id": 0,
            "templates": {
                "caption": {"short": [1, 32, 2, 12, 3], "normal": [1, 32, 3], "long": [1, 33, 3]},
                "query": {"prefix": [1, 15, 2], "suffix": [3]},
                "detect": {"prefix": [1, 7, 2], "suffix": [3]},
                "point": {"prefix": [1, 8, 2], "suffix": [3]},
            },
        },
    }
}
CASES = (
    Case(
        "DeepSeek-VL2, language model",
        "deepseek-ai/DeepSeek-VL2",
        ".",
        "deepseek_vl2.models.modeling_deepseek.DeepseekV2ForCausalLM",
        "deepseek_vl2.models.configuration_deepseek.DeepseekV2Config",
        {
            **SMALL,
            "num_key_value_heads": 4,
            "moe_intermediate_size": 16,
            "n_shared_experts": 1,
            "n_routed_experts": 4,
            "num_experts_per_tok": 2,
            "topk_method": "greedy",
            "n_group": 1,
            "topk_group": 1,
            "first_k_dense_replace": 1,
            "kv_lora_rank": 16,
            "q_lora_rank": None,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 8,
            "max_position_embeddings": 64,
        },
    ),
    Case(
        "InternVL, InternLM2",
        "OpenGVLab/InternVL",
        "internvl_chat",
        "internvl.model.internlm2.modeling_internlm2.InternLM2ForCausalLM",
        "internvl.model.internlm2.configuration_internlm2.InternLM2Config",
        {**SMALL, "num_key_value_heads": 2, "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    ),
    Case(
        "InternVL, Phi-3",
        "OpenGVLab/InternVL",
        "internvl_chat",
        "internvl.model.phi3.modeling_phi3.Phi3ForCausalLM",
        "internvl.model.phi3.configuration_phi3.Phi3Config",
        {
            **SMALL,
            "num_key_value_heads": 4,
            "max_position_embeddings": 128,
            "original_max_position_embeddings": 64,
            "rope_scaling": {"type": "su", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
            "attn_implementation": "eager",
        },
    ),
    Case(
        "InternVL, chat model with Qwen2",
        "OpenGVLab/InternVL",
        "internvl_chat",
        "internvl.model.internvl_chat.modeling_internvl_chat.InternVLChatModel",
        "internvl.model.internvl_chat.configuration_internvl_chat.InternVLChatConfig",
        {
            "vision_config": {
                "architectures": ["InternVisionModel"],
                "hidden_size": 32,
                "intermediate_size": 64,
                "num_hidden_layers": 2,
                "num_attention_heads": 4,
                "image_size": 28,
                "patch_size": 7,
                "drop_path_rate": 0.0,
                "qk_normalization": False,
                "use_flash_attn": False,
                "norm_type": "layer_norm",
            },
            "llm_config": {
                **SMALL,
                "architectures": ["Qwen2ForCausalLM"],
                "num_key_value_heads": 2,
                "model_type": "qwen2",
            },
            "force_image_size": 28,
            "downsample_ratio": 0.5,
            "template": "internvl2_5",
        },
        forward=internvl_forward,
        generate=internvl_generate,
        stubs=("peft",),
    ),
    Case(
        "Florence-2, first revision",
        "gyovani19/Flor",
        ".",
        "modeling_florence2.Florence2ForConditionalGeneration",
        "configuration_florence2.Florence2Config",
        FLORENCE,
        forward=florence_forward,
        generate=florence_generate,
    ),
    Case(
        "Florence-2, later revision",
        "zxyzxy8888/Florence-2-large",
        ".",
        "modeling_florence2.Florence2ForConditionalGeneration",
        "configuration_florence2.Florence2Config",
        FLORENCE,
        flat=True,
        forward=florence_forward,
        generate=florence_generate,
        stubs=("flash_attn",),
    ),
    Case(
        "ComfyUI-Florence2",
        "kijai/ComfyUI-Florence2",
        ".",
        "florence2.modeling_florence2.Florence2ForConditionalGeneration",
        "florence2.configuration_florence2.Florence2Config",
        FLORENCE,
        forward=florence_forward,
        generate=florence_generate,
        package="florence2",
    ),
    Case(
        "moondream",
        "vikhyat/moondream",
        ".",
        "moondream.torch.hf_moondream.HfMoondream",
        "moondream.torch.hf_moondream.HfConfig",
        MOONDREAM,
        forward=moondream_forward,
        generate=moondream_generate,
        prepare=moondream_prepare,
        note="its tokenizer lies on the hub: a small one replaces it",
    ),
    Case(
        "GOT-OCR2.0",
        "Ucas-HaoranWei/GOT-OCR2.0",
        "GOT-OCR-2.0-master",
        "GOT.model.GOT_ocr_2_0.GOTQwenForCausalLM",
        "GOT.model.GOT_ocr_2_0.GOTConfig",
        {**SMALL, "num_key_value_heads": 2, "max_window_layers": 2},
        prepare=got_prepare,
        stubs=("cv2",),
        note="text alone",
    ),
    Case(
        "LLaVA",
        "haotian-liu/LLaVA",
        ".",
        "llava.model.language_model.llava_llama.LlavaLlamaForCausalLM",
        "llava.model.language_model.llava_llama.LlavaConfig",
        {**SMALL, "num_key_value_heads": 4},
        note="text alone",
    ),
    Case(
        "mPLUG-Owl2",
        "X-PLUG/mPLUG-Owl",
        "mPLUG-Owl2",
        "mplug_owl2.model.modeling_mplug_owl2.MPLUGOwl2LlamaForCausalLM",
        "mplug_owl2.model.configuration_mplug_owl2.MPLUGOwl2Config",
        {
            **SMALL,
            "num_key_value_heads": 4,
            "visual_config": {
                "visual_model": {
                    "hidden_size": 32,
                    "intermediate_size": 64,
                    "num_hidden_layers": 1,
                    "num_attention_heads": 2,
                    "image_size": 28,
                },
                "visual_abstractor": {
                    "num_learnable_queries": 4,
                    "hidden_size": 32,
                    "num_hidden_layers": 1,
                    "num_attention_heads": 2,
                    "intermediate_size": 64,
                    "encoder_hidden_size": 32,
                    "grid_size": 2,
                },
            },
        },
        prepare=mplug_prepare,
        stubs=("icecream",),
        note="text alone",
    ),
    Case(
        "Qwen-7B-Chat",
        "undefdev/Qwen-7B-Chat",
        ".",
        "modeling_qwen.QWenLMHeadModel",
        "configuration_qwen.QWenConfig",
        {
            "vocab_size": 64,
            "n_embd": 32,
            "n_layer": 2,
            "n_head": 4,
            "kv_channels": 8,
            "ffn_hidden_size": 128,
            "fp32": True,
            "use_flash_attn": False,
            "seq_length": 64,
            "n_positions": 64,
            "padded_vocab_size": 64,
            "pos_emb": "rotary",
            "params_dtype": "float32",
            "chat_format": "chatml",
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        flat=True,
        stubs=("tiktoken", "transformers_stream_generator"),
    ),
    Case(
        "Qwen-VL-Chat",
        "Immerso-AIIP-Ltd/Qwen-VL-Chat",
        ".",
        "modeling_qwen.QWenLMHeadModel",
        "configuration_qwen.QWenConfig",
        {
            **QWEN,
            "visual": {
                "heads": 2,
                "image_size": 28,
                "image_start_id": 61,
                "layers": 1,
                "mlp_ratio": 2.0,
                "output_dim": 256,
                "patch_size": 14,
                "width": 32,
            },
        },
        flat=True,
        stubs=("tiktoken", "transformers_stream_generator", "matplotlib", "requests"),
        note="text alone",
    ),
    Case(
        "Qwen-Audio",
        "QwenLM/Qwen-Audio",
        ".",
        "qwen_audio.modeling_qwen.QWenLMHeadModel",
        "qwen_audio.configuration_qwen.QWenConfig",
        {
            **QWEN,
            "audio": {
                "n_mels": 8,
                "n_ctx": 16,
                "n_state": 32,
                "n_head": 2,
                "n_layer": 1,
                "output_dim": 32,
                "avg_pool": True,
                "add_audio_bos_eos_token": True,
                "audio_start_id": 61,
            },
        },
        stubs=("tiktoken", "transformers_stream_generator", "librosa", "ffmpeg"),
        package="qwen_audio",
        files=("mel_filters.npz",),
        note="text alone",
    ),
    Case(
        "MiniCPM-V 2, language model",
        "HwwwwwwwH/MiniCPM-V-2",
        ".",
        "modeling_minicpm.MiniCPMForCausalLM",
        "configuration_minicpm.MiniCPMConfig",
        {**SMALL, "num_key_value_heads": 2, "scale_emb": 2, "dim_model_base": 16, "scale_depth": 1.4},
        flat=True,
    ),
    Case(
        "ChatGLM3-6B",
        "czk1997/chatglm3-copy",
        ".",
        "modeling_chatglm.ChatGLMForConditionalGeneration",
        "configuration_chatglm.ChatGLMConfig",
        {
            "num_layers": 2,
            "padded_vocab_size": 64,
            "hidden_size": 32,
            "ffn_hidden_size": 64,
            "kv_channels": 8,
            "num_attention_heads": 4,
            "seq_length": 64,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
            "add_qkv_bias": True,
            "original_rope": True,
            "use_cache": True,
            "pad_token_id": 0,
            "eos_token_id": 2,
            "tie_word_embeddings": False,
            "torch_dtype": "float32",
        },
        flat=True,
    ),
    Case(
        "Baichuan-7B",
        "baichuan-inc/Baichuan-7B",
        "models",
        "modeling_baichuan.BaiChuanForCausalLM",
        "configuration_baichuan.BaiChuanConfig",
        {**SMALL, "max_position_embeddings": 64},
        flat=True,
        stubs=("xformers",),
    ),
    Case(
        "Baichuan2-13B-Chat",
        "jrd77/Baichuan2-13B-Chat",
        ".",
        "modeling_baichuan.BaichuanForCausalLM",
        "configuration_baichuan.BaichuanConfig",
        {**SMALL, "model_max_length": 64},
        flat=True,
        stubs=("accelerate", "xformers"),
    ),
    Case(
        "MoE-LLaVA, Phi",
        "PKU-YuanGroup/MoE-LLaVA",
        ".",
        "moellava.model.language_model.phi.modeling_phi.PhiForCausalLM",
        "moellava.model.language_model.phi.configuration_phi.PhiConfig",
        {**SMALL, "num_key_value_heads": 4, "partial_rotary_factor": 0.5},
    ),
    Case(
        "Bunny, StableLM",
        "BAAI-DCAI/Bunny",
        ".",
        "bunny.model.language_model.stable_lm.modeling_stablelm_epoch.StableLMEpochForCausalLM",
        "bunny.model.language_model.stable_lm.configuration_stablelm_epoch.StableLMEpochConfig",
        {**SMALL, "num_key_value_heads": 4, "rope_pct": 0.5},
    ),
    Case(
        "Bunny, Llama",
        "BAAI-DCAI/Bunny",
        ".",
        "bunny.model.language_model.llama.modeling_llama.LlamaForCausalLM",
        "bunny.model.language_model.llama.configuration_llama.LlamaConfig",
        {**SMALL, "num_key_value_heads": 2},
    ),
)


def filled(model: Any) -> Any:
    """The model with numbers that do not depend on the release."""
    for name, parameter in sorted(model.named_parameters()):
        generator = torch.Generator().manual_seed(sum(map(ord, name)))
        parameter.data = (torch.randn(parameter.shape, generator=generator) * 0.2).to(parameter.dtype)
    return model.eval()


class Empty(types.ModuleType):
    """A third-party module that is not here: every name in it is an empty class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@contextmanager
def stubbed(names: tuple[str, ...]) -> Iterator[None]:
    """With empty modules for those that are not installed, for as long as the repository's files are imported.

    transformers has looked around before and does not take them for installed.
    """
    made = []
    for name in names:
        if name not in sys.modules:
            for part in (
                name,
                *(f"{name}.{part}" for part in ("main", "utils", "ops", "colors", "figure", "font_manager")),
            ):
                sys.modules[part] = Empty(part)
                sys.modules[part].__path__ = []
                sys.modules[part].__spec__ = importlib.machinery.ModuleSpec(part, None)
                made.append(part)
    try:
        yield
    finally:
        for part in made:
            sys.modules.pop(part, None)


class Run:
    """One case on this release, stage by stage."""

    def __init__(self, case: Case, top: Path, checkpoints: Path) -> None:
        self.case, self.folder = case, top / case.folder
        self.checkpoint = checkpoints / "".join(letter if letter.isalnum() else "_" for letter in case.name)
        self.results: Results = {}

    def project(self) -> None:
        """Make packages of the folders on the way to the module, without their `__init__`."""
        sys.path.insert(0, str(self.folder))
        for dotted in (self.case.model, self.case.config):
            parts = dotted.split(".")[:-2]
            for end in range(1, len(parts) + 1):
                name, at = ".".join(parts[:end]), self.folder.joinpath(*parts[:end])
                if name == self.case.package:
                    at = self.folder
                if name not in sys.modules:
                    package = types.ModuleType(name)
                    package.__path__ = [str(at)]
                    sys.modules[name] = package

    def cls(self, dotted: str) -> Any:
        """A class of the repository."""
        if self.case.flat:
            from transformers.dynamic_module_utils import get_class_from_dynamic_module

            return get_class_from_dynamic_module(dotted, str(self.folder))
        module, _, name = dotted.rpartition(".")
        return getattr(importlib.import_module(module), name)

    def do_import(self) -> None:
        """Import the model and its configuration."""
        if not self.case.flat:
            self.project()
        with stubbed(self.case.stubs):
            self.model_class, self.config_class = self.cls(self.case.model), self.cls(self.case.config)
        self.case.prepare(sys.modules[self.model_class.__module__])

    def do_build(self) -> None:
        """Build a tiny model."""
        config = self.config_class(**{key: value for key, value in self.case.options.items() if key != "config"})
        if "config" in self.case.options:
            config.config = self.case.options["config"]
        implementation = self.case.options.get("attn_implementation")
        if implementation:
            config._attn_implementation = implementation
        self.config = config
        self.model = filled(self.model_class(config))

    def do_load(self) -> None:
        """Load it from its checkpoint; write that first where this case has none yet."""
        from safetensors.torch import save_file

        if not self.checkpoint.exists():
            partial = self.checkpoint.with_suffix(".part")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            # All of it: tied weights are written twice on the hub, too.
            weights = {name: tensor.clone().contiguous() for name, tensor in self.model.state_dict().items()}
            save_file(weights, partial / "model.safetensors", metadata={"format": "pt"})
            for name in self.case.files:
                (partial / name).touch()
            # As on the hub: the file as written by hand, not as a release saves it.
            config = {**self.case.options, "model_type": self.config.model_type, "torch_dtype": "float32"}
            config["architectures"] = [self.case.model.rpartition(".")[2]]
            if self.case.flat:
                for file in self.folder.glob("*.py"):
                    shutil.copy(file, partial)
                config["auto_map"] = {"AutoConfig": self.case.config, "AutoModelForCausalLM": self.case.model}
            (partial / "config.json").write_text(json.dumps(config, indent=1))
            partial.rename(self.checkpoint)
        with stubbed(self.case.stubs):
            if self.case.flat:
                from transformers import AutoModelForCausalLM

                loaded = AutoModelForCausalLM.from_pretrained(str(self.checkpoint), trust_remote_code=True)
            else:
                given = {"config": self.config} if "config" in self.case.options else {}
                loaded = self.model_class.from_pretrained(str(self.checkpoint), **given)
        self.model = loaded.eval()

    def do_forward(self) -> None:
        """One batch."""
        with torch.no_grad():
            self.results["forward"] = self.case.forward(self.model).float()

    def do_generate(self) -> None:
        """Some tokens."""
        with torch.no_grad():
            self.results["generate"] = self.case.generate(self.model)

    def files(self) -> list[str]:
        """The files of the repository that were imported, as they lie in its folder."""
        files = [
            Path(str(module.__file__)) for module in list(sys.modules.values()) if getattr(module, "__file__", None)
        ]
        below = [str(file.relative_to(self.folder)) for file in files if file.is_relative_to(self.folder)]
        copies = [file.name for file in files if "transformers_modules" in file.parts and file.name != "__init__.py"]
        return sorted({*below, *copies})

    def facts(self) -> dict[str, Any]:
        """How far it came: the stage at which it stopped and why, or no stage."""
        torch.manual_seed(0)
        for stage in STAGES:
            try:
                getattr(self, f"do_{stage}")()
            except BaseException as error:  # SystemExit and what a stub does, too
                import traceback

                frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
                at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
                text = f"{type(error).__name__}: {error}".strip()
                return {"stage": stage, "error": text, "at": at, "trace": traceback.format_exc()[-4000:]}
        return {"stage": "", "error": "", "at": ""}


def in_a_fork(case: Case, top: Path, checkpoints: Path, out: Path, number: int) -> dict[str, Any]:
    """The result of a case, in a process of its own."""
    pid = os.fork()
    if not pid:
        log = os.open(out / f"{number}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        signal.alarm(LIMIT)
        run = Run(case, top, checkpoints)
        result = {**run.facts(), "files": run.files()}
        if "hotfix" in sys.modules:
            import hotfix

            result["applied"] = sorted({outcome.fix for outcome in hotfix.report() if outcome.state == "applied"})
        torch.save(run.results, out / f"{number}.pt")
        (out / f"{number}.json").write_text(json.dumps(result))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    written = out / f"{number}.json"
    if status or not written.exists():
        return {"stage": "process", "error": f"the process ended with {status}", "at": ""}
    return dict(json.loads(written.read_text()))


def asked_for(names: list[list[str]]) -> list[bool]:
    """Whether this release has each of these names, by asking for it as an import does."""
    missing = []
    for module, name in names:
        try:
            imported = importlib.import_module(module)
            there = not name or hasattr(imported, name) or bool(importlib.import_module(f"{module}.{name}"))
        except Exception:  # whatever a module raises while it is imported, the name cannot be had
            there = False
        missing.append(there)
    return missing


def main(order: dict[str, Any]) -> None:
    """Run what was ordered."""
    if "names" in order:
        Path(order["out"]).write_text(json.dumps(asked_for(order["names"])))
        return
    if order["hotfix"]:
        import hotfix.auto  # noqa: F401
    import transformers
    import transformers.modeling_utils
    import transformers.utils.import_utils as looked

    for name, function in list(vars(looked).items()):  # before any stub is there
        if name.startswith("is_") and name.endswith("_available") and callable(function):
            try:
                function()
            except (TypeError, ImportError, OSError):
                continue
    out = Path(order["out"])
    results = {}
    for number, case in enumerate(CASES):
        if case.repository in order["folders"] and case.name in order["cases"]:
            top = Path(order["folders"][case.repository])
            results[case.name] = in_a_fork(case, top, Path(order["checkpoints"]), out, number)
    (out / "results.json").write_text(json.dumps({"transformers": transformers.__version__, "cases": results}))


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
