"""Programs that work without hotfix: configurations and tokenizers with arguments of the program's own."""

from __future__ import annotations

from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any


def shown(value: Any) -> Any:
    """A text as a tensor of bytes."""
    import torch

    return torch.tensor([*repr(value).encode()])


def experts_of_its_own(testbed: Any, target: Any) -> dict[str, Any]:
    """A program has its own ``num_local_experts`` next to ``num_experts``."""
    module = import_module("transformers.models.qwen3_moe.configuration_qwen3_moe")
    config = module.Qwen3MoeConfig(num_experts=8, num_local_experts=4)
    default = module.Qwen3MoeConfig(num_local_experts=4)
    with TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        again = module.Qwen3MoeConfig.from_pretrained(folder)
    values = {"given": config, "read": again, "default": default}
    return {name: shown((value.num_experts, value.num_local_experts)) for name, value in values.items()}


def rotary_pct_given(testbed: Any, target: Any) -> dict[str, Any]:
    """The caller passes a fraction that differs from the file's."""
    module = import_module("transformers.models.gpt_neox.configuration_gpt_neox")
    made = module.GPTNeoXConfig(
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.25}, rotary_pct=0.5
    )
    return {"factor": shown(made.rope_parameters["partial_rotary_factor"])}


def both_lists_of_tokens(testbed: Any, target: Any) -> dict[str, Any]:
    """A file that lists tokens under the old key and under the new one."""
    import json
    from pathlib import Path

    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1, "b": 2}, unk_token="<unk>"))
    with TemporaryDirectory() as folder:
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(folder)
        file = Path(folder, "tokenizer_config.json")
        written = json.loads(file.read_text())
        lists = {"additional_special_tokens": ["<a>"], "extra_special_tokens": ["<b>"]}
        file.write_text(json.dumps({**written, **lists}))
        again = PreTrainedTokenizerFast.from_pretrained(folder)
    return {"tokens": shown(sorted(map(str, again.all_special_tokens)))}


def scaling_completed_early(testbed: Any, target: Any) -> dict[str, Any]:
    """A configuration of the program's own reads its scaling before the library's constructor has run."""
    from transformers import PretrainedConfig

    class Own(PretrainedConfig):  # type: ignore[misc]
        def __init__(self, **kwargs: Any) -> None:
            self.max_position_embeddings = 64
            self.rope_theta = 1e4
            self.rope_scaling = {"type": "linear", "factor": 2.0}
            self.kind = self.rope_scaling["rope_type"]
            super().__init__(**kwargs)

    own = Own()
    return {"kind": shown(own.kind), "scaling": shown(sorted(own.rope_scaling.items()))}


def longrope_with_its_own_check(testbed: Any, target: Any) -> dict[str, Any]:
    """A subclass of Phi-3's configuration that itself accepts ``longrope``."""
    module = import_module("transformers.models.phi3.configuration_phi3")

    class Own(module.Phi3Config):  # type: ignore[misc,name-defined]
        def _rope_scaling_validation(self) -> None:
            pass

    own = Own(rope_scaling={"type": "longrope", "short_factor": [1.0], "long_factor": [2.0]})
    return {"type": shown(own.rope_scaling["type"])}


def linear_beside_llama3(testbed: Any, target: Any) -> dict[str, Any]:
    """The workaround for Llama 3.1: the check is off, and the scaling has a type that the release knows."""
    import torch

    configuration = import_module("transformers.models.llama.configuration_llama")
    modeling = import_module("transformers.models.llama.modeling_llama")

    class Own(configuration.LlamaConfig):  # type: ignore[misc,name-defined]
        def _rope_scaling_validation(self) -> None:
            pass

    scaling = {"type": "linear", "factor": 8.0, "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    config = Own(
        vocab_size=32, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        rope_scaling={**scaling, "original_max_position_embeddings": 64},
    )  # fmt: skip
    model = testbed.fill(modeling.LlamaForCausalLM(config)).eval()
    with torch.no_grad():
        return {"logits": model(torch.arange(12)[None]).logits}


def names_of_a_repeated_piece(testbed: Any, target: Any) -> dict[str, Any]:
    """Weight names that contain a pattern twice survive a round trip."""
    loading = import_module("transformers.core_model_loading")
    rename = loading.WeightRenaming("block", "layer")
    read, _ = rename.rename_source_key("block.0.block.weight")
    written, _ = rename.reverse_transform().rename_source_key(read)
    return {"names": shown((read, written))}


def experts_beside_rope_parameters(testbed: Any, target: Any) -> dict[str, Any]:
    """A configuration created in code, with a release that has ``rope_parameters`` itself."""
    module = import_module("transformers.models.qwen3_moe.configuration_qwen3_moe")
    rope = {"rope_type": "default", "rope_theta": 1e6}
    config = module.Qwen3MoeConfig(num_local_experts=4, rope_parameters=rope)
    return {"experts": shown((config.num_experts, config.num_local_experts))}


def no_tokens_of_the_list(testbed: Any, target: Any) -> dict[str, Any]:
    """The caller disables all special tokens that the file lists."""
    import json
    from pathlib import Path

    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
    results = {}
    with TemporaryDirectory() as folder:
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(folder)
        file = Path(folder, "tokenizer_config.json")
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"}
        file.write_text(json.dumps({**settings, "additional_special_tokens": ["a"]}))
        for key in ("extra_special_tokens", "additional_special_tokens"):
            tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, **{key: []})
            results[key] = shown((tokenizer.all_special_tokens, len(tokenizer)))
    return results


def attributes_of_initialised_modules(testbed: Any, target: Any) -> dict[str, Any]:
    """A custom model that relies on the values set by its ``_init_weights``."""
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel

    class Own(PreTrainedModel):
        config_class = PreTrainedConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.first = torch.nn.Linear(4, 4)
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            if isinstance(module, torch.nn.Linear):
                torch.nn.init.normal_(module.weight)
                torch.nn.init.zeros_(module.bias)
                module.scale = 2.0

    model = testbed.fill(Own(PreTrainedConfig()))
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        read = Own.from_pretrained(folder)
    return {"scale": shown(getattr(read.first, "scale", None)), "weight": read.first.weight.detach()}


def a_table_of_its_own(testbed: Any, target: Any) -> dict[str, Any]:
    """A UMT5 whose encoder has another vocabulary, which the file does not mention."""
    from pathlib import Path

    import torch
    from safetensors.torch import load_file, save_file
    from transformers import UMT5Config, UMT5ForConditionalGeneration

    class Own(UMT5ForConditionalGeneration):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.encoder.embed_tokens = torch.nn.Embedding(config.letters, config.d_model)
            self.post_init()

    sizes = {"vocab_size": 32, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    results = {}
    for letters in (32, 50):
        config = UMT5Config(**sizes, letters=letters, tie_word_embeddings=False)
        model = testbed.fill(UMT5ForConditionalGeneration(config))
        with TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            file = Path(folder, "model.safetensors")
            kept = {name: tensor for name, tensor in load_file(file).items() if "embed_tokens" not in name}
            save_file({**kept, "shared.weight": model.shared.weight.detach().clone()}, file, {"format": "pt"})
            read = Own.from_pretrained(folder)
        table = read.encoder.embed_tokens.weight
        results[f"{letters}"] = shown((tuple(table.shape), table is read.shared.weight))
    return results


def a_dtype_of_its_own(testbed: Any, target: Any) -> dict[str, Any]:
    """A registered class whose ``from_pretrained`` sets the dtype."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import AutoConfig, AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    from transformers import pipeline as make

    class OwnConfig(LlamaConfig):
        model_type = "own"

    class Own(LlamaForCausalLM):
        config_class = OwnConfig

        @classmethod
        def from_pretrained(cls, name: str, *args: Any, **kwargs: Any) -> Any:
            return super().from_pretrained(name, *args, dtype=torch.float32, **kwargs)

    AutoConfig.register("own", OwnConfig)
    AutoModelForCausalLM.register(OwnConfig, Own)
    sizes = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    model = Own(OwnConfig(**sizes, num_attention_heads=2, num_key_value_heads=2)).to(torch.bfloat16)
    words = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    with TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>")
        made = make("text-generation", model=folder, tokenizer=tokenizer, device="cpu")
    return {"class and dtype": shown((type(made.model).__name__, made.model.dtype))}


def rope_of_a_part(testbed: Any, target: Any) -> dict[str, Any]:
    """A backbone with custom ``rope_parameters``, in a file of this release or of a fork."""
    import transformers

    part = {"model_type": "swin", "rope_parameters": {"rope_theta": 7.0, "rope_type": "linear", "factor": 2.0}}
    results = {}
    for version in (transformers.__version__, "4.40.0.dev0", "a fork"):
        whole = {"backbone_config": dict(part), "transformers_version": version}
        read = transformers.UperNetConfig.from_dict(whole)
        results[version] = shown(sorted(read.backbone_config.to_diff_dict()))
    return results


def rope_of_a_model_without(testbed: Any, target: Any) -> dict[str, Any]:
    """A program stores ``rope_parameters`` in the configuration of BERT, for a custom model."""
    import contextlib
    import io

    from transformers import BertConfig, ViTConfig

    said = io.StringIO()
    results = {}
    with contextlib.redirect_stderr(said):
        for cls in (BertConfig, ViTConfig):
            config = cls.from_dict({"rope_parameters": {"rope_theta": 7.0, "rope_type": "linear", "factor": 2.0}})
            results[cls.__name__] = shown(sorted(config.to_diff_dict()))
    return {
        **results,
        "said": shown([line for line in said.getvalue().splitlines() if "is not that of the file" in line]),
    }


def a_template_file_of_its_own(testbed: Any, target: Any) -> dict[str, Any]:
    """A tokenizer class that loads chat_template.jinja itself, as a workaround for releases that do not."""
    from pathlib import Path

    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    class Own(PreTrainedTokenizerFast):  # type: ignore[misc]
        def __init__(self, *args: Any, chat_template_file: Any = None, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.chat_template = Path(chat_template_file).read_text() + "{# read by Own #}"

    Own.vocab_files_names = {**PreTrainedTokenizerFast.vocab_files_names, "chat_template_file": "chat_template.jinja"}
    words = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    with TemporaryDirectory() as folder:
        PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(folder)
        Path(folder, "chat_template.jinja").write_text("{{ messages }}")
        return {"template": shown(Own.from_pretrained(folder).chat_template)}
