"""The life of a model of one's own: everything that is read and saved between its first checkpoint and the next."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.proofs.loading._written import CHAT, TEMPLATE, TEXT, TOKENIZER
from tests.working.loading.programs import values

_SIZES = {
    "vocab_size": 48,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}


def life(testbed: Any, target: Any) -> Any:
    """Registered classes of the program's own: saved in shards, read in several ways, resized, tied, saved again."""
    import transformers
    from transformers import (
        AutoConfig,
        AutoModelForCausalLM,
        AutoTokenizer,
        LlamaConfig,
        LlamaForCausalLM,
        PreTrainedTokenizerFast,
    )

    class OwnConfig(LlamaConfig):
        model_type = "own-llama"

        def __init__(self, dtype_of_head: str = "float32", layers_of_ours: Any = None, **kwargs: Any) -> None:
            self.dtype_of_head = dtype_of_head
            self.layers_of_ours = layers_of_ours or ["attention", "mamba"]
            super().__init__(**kwargs)

    class OwnModel(LlamaForCausalLM):
        config_class = OwnConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.value_head = torch.nn.Linear(config.hidden_size, 1)
            self.register_buffer("calls", torch.zeros(1))
            self.post_init()

        def _init_weights(self, module: Any) -> None:
            super()._init_weights(module)
            if module is getattr(self, "value_head", None):
                module.weight.data.fill_(0.25)

        def save_pretrained(self, save_directory: Any, **kwargs: Any) -> None:
            super().save_pretrained(save_directory, **kwargs)
            Path(save_directory, "ours.json").write_text(json.dumps({"calls": float(self.calls)}))

    class OwnTokenizer(PreTrainedTokenizerFast):
        def __init__(self, *args: Any, extra_words: Any = None, **kwargs: Any) -> None:
            self.extra_words = extra_words
            super().__init__(*args, **kwargs)

    AutoConfig.register("own-llama", OwnConfig)
    AutoModelForCausalLM.register(OwnConfig, OwnModel)
    AutoTokenizer.register(OwnConfig, fast_tokenizer_class=OwnTokenizer)

    results: dict[str, Any] = {}

    def note(name: str, model: Any) -> None:
        weights = model.state_dict()
        results[f"{name}: sums"] = {key: round(float(value.double().sum()), 4) for key, value in weights.items()}
        results[f"{name}: kind"] = [str(model.dtype), type(model).__name__, str(model.config.tie_word_embeddings)]
        with torch.no_grad():
            ids = torch.arange(1, 8)[None]
            results[f"{name}: logits"] = model.to("cpu").eval()(input_ids=ids).logits.float()

    model = testbed.fill(OwnModel(OwnConfig(**_SIZES)))
    with tempfile.TemporaryDirectory() as root:
        first, second, third = Path(root, "first"), Path(root, "second"), Path(root, "third")
        model.save_pretrained(first, max_shard_size="10KB")
        results["files"] = sorted(path.name for path in first.iterdir())
        for name, options in {
            "plain": {},
            "half": {"torch_dtype": torch.bfloat16},
            "auto": {"torch_dtype": "auto"},
            "frugal": {"low_cpu_mem_usage": True},
            "state": {"state_dict": {key: value * 0.5 for key, value in model.state_dict().items()}},
        }.items():
            try:
                note(name, AutoModelForCausalLM.from_pretrained(first, **options))
            except Exception as error:
                results[name] = type(error).__name__
        model = OwnModel.from_pretrained(first)
        model.resize_token_embeddings(56)
        model.config.tie_word_embeddings = True
        model.tie_weights()
        model.save_pretrained(second)
        results["second"] = sorted(path.name for path in second.iterdir())
        results["config"] = _without_version(json.loads((second / "config.json").read_text()))
        note("tied", AutoModelForCausalLM.from_pretrained(second))
        note("of the library", LlamaForCausalLM.from_pretrained(second, config=LlamaConfig.from_pretrained(second)))
        weights = {key: value for key, value in model.state_dict().items() if "value_head" not in key}
        try:
            model.save_pretrained(third, state_dict=weights)
            note("without its head", OwnModel.from_pretrained(third))
        except Exception as error:
            results["without its head"] = type(error).__name__

        (first / "tokenizer.json").write_text(json.dumps(TOKENIZER))
        settings = {"tokenizer_class": "OwnTokenizer", "unk_token": "<unk>", "eos_token": "</s>", "extra_words": ["a"]}
        (first / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": TEMPLATE}))
        tokenizer = AutoTokenizer.from_pretrained(first)
        tokenizer.add_special_tokens({"additional_special_tokens": ["<|turn|>"]})
        tokenizer.save_pretrained(third)
        again = (
            AutoTokenizer.from_pretrained(third)
            if (third / "config.json").exists()
            else OwnTokenizer.from_pretrained(third)
        )
        for name, words in (("tokenizer", tokenizer), ("tokenizer again", again)):
            results[name] = [
                type(words).__name__,
                getattr(words, "extra_words", None),
                words(TEXT)["input_ids"],
                sorted(words.all_special_ids),
                words.apply_chat_template(CHAT, tokenize=False),
            ]
    results["release"] = transformers.__version__
    return values(**results)


def _without_version(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in ("transformers_version", "_name_or_path")}
