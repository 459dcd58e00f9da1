"""Steps in the life of a file: written, loaded and saved by an armed process, loaded by one without hotfix.

`CASE_FROM`, `CASE_TO` and `CASE_KIND` are environment variables: two folders, and the kind of their content.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from hotfix.proofs.loading import _written
from tests.working.loading.kinds_saved import KINDS
from tests.working.loading.programs import values

_SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 4}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    **{written["model_type"]: written for written in _written.CONFIGURATIONS.values()},
    "qwen3_moe": {
        **_SIZES,
        "model_type": "qwen3_moe",
        "vocab_size": 64,
        "num_local_experts": 4,
        "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
        "transformers_version": _written.WRITER,
    },
    "phi3": {
        **_SIZES,
        "model_type": "phi3",
        "vocab_size": 64,
        "pad_token_id": 0,
        "max_position_embeddings": 64,
        "original_max_position_embeddings": 32,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
        "transformers_version": "4.43.0",
    },
    "llama31": {
        **_SIZES,
        "model_type": "llama",
        "vocab_size": 64,
        "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
        "transformers_version": "4.43.0",
    },
}
"""Files by the kind of model, as the release wrote them that they name."""


def write(testbed: Any, target: Any) -> Any:
    """The original, in the folder CASE_TO, by whichever release runs this."""
    kind, place = os.environ["CASE_KIND"], Path(os.environ["CASE_TO"])
    if kind in KINDS:
        KINDS[kind].write(testbed, place)
    elif kind in CONFIGURATIONS:
        (place / "config.json").write_text(json.dumps(CONFIGURATIONS[kind]))
    elif kind == "tokenizer of bytes":
        _bytes(place)
    elif kind == "tokenizer of deberta":
        words = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "\u2581", "\u2581Hello", *"abcdefghijklmnopqrstuvwxyz"]
        cls: Any = __import__("transformers").DebertaV2Tokenizer
        cls(vocab=[(word, -1.0 - number) for number, word in enumerate(words)]).save_pretrained(place)
    elif kind.startswith("tokenizer"):
        settings = dict(_written.SETTINGS)
        if kind == "tokenizer of 4.x":
            listed = settings.pop("extra_special_tokens")
            settings.pop("backend")
            settings.update(
                tokenizer_class="PreTrainedTokenizerFast", additional_special_tokens=listed, extra_special_tokens={}
            )
        (place / "tokenizer_config.json").write_text(json.dumps(settings))
        (place / "tokenizer.json").write_text(json.dumps(_written.TOKENIZER))
        (place / "chat_template.jinja").write_text(_written.TEMPLATE)
    else:
        _model(testbed, kind).save_pretrained(place)
    if kind == "llama that samples":
        (place / "generation_config.json").write_text(
            json.dumps({"temperature": 0.5, "transformers_version": "4.31.0"})
        )
    if kind == "llama without metadata":
        from safetensors.torch import load_file, save_file

        save_file(load_file(place / "model.safetensors"), place / "model.safetensors")
    return values(done=True)


def _bytes(place: Any) -> None:
    """A tokenizer of GPT-2's class whose file cuts digits apart."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = {word: number for number, word in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    end = "<|endoftext|>"
    words = Tokenizer(models.BPE({**letters, end: len(letters), "12": len(letters) + 1}, [("1", "2")]))
    cut = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    words.pre_tokenizer, words.decoder = pre_tokenizers.Sequence(cut), decoders.ByteLevel()
    words.save(str(place / "tokenizer.json"))
    settings = {"tokenizer_class": "GPT2Tokenizer", **dict.fromkeys(("unk_token", "bos_token", "eos_token"), end)}
    (place / "tokenizer_config.json").write_text(json.dumps({**settings, "chat_template": _written.TEMPLATE}))
    (place / "config.json").write_text(json.dumps({"model_type": "gpt2"}))


def save(testbed: Any, target: Any) -> Any:
    """Load CASE_FROM, save it in CASE_TO, and report the loaded values."""
    original, place = Path(os.environ["CASE_FROM"]), Path(os.environ["CASE_TO"])
    kind = KINDS.get(os.environ["CASE_KIND"])
    thing = kind.load(original) if kind and kind.load else _read(str(original))
    meaning = values(**_meaning(thing))
    shutil.rmtree(place)
    if kind and kind.save:
        kind.save(thing, place, original)
    else:
        thing.save_pretrained(place)
    return meaning


def read(testbed: Any, target: Any) -> Any:
    """Load CASE_FROM, and report its meaning."""
    return values(**_meaning(_read(os.environ["CASE_FROM"])))


def _model(testbed: Any, kind: str) -> Any:
    import transformers

    from hotfix.proofs import _llava
    from hotfix.proofs.loading.v5_umt5_config_unties_encoder import _SIZES as UMT5

    if kind == "umt5":
        return testbed.fill(transformers.UMT5ForConditionalGeneration(transformers.UMT5Config(**UMT5)))
    if kind.startswith("llama"):
        return testbed.fill(transformers.LlamaForCausalLM(transformers.LlamaConfig(**_SIZES, vocab_size=64)))
    if kind == "camembert":
        return testbed.fill(transformers.CamembertForMaskedLM(transformers.CamembertConfig(**_SIZES, vocab_size=64)))
    return getattr(_llava, kind)(testbed)


def _read(place: str) -> Any:
    import transformers

    kind = os.environ["CASE_KIND"]
    if kind in KINDS:
        return KINDS[kind].read(Path(place))
    if kind in CONFIGURATIONS:
        return transformers.AutoConfig.from_pretrained(place)
    if kind == "tokenizer of deberta":
        return transformers.DebertaV2Tokenizer.from_pretrained(place)
    if kind.startswith("tokenizer"):
        return transformers.AutoTokenizer.from_pretrained(place)
    classes = {
        "umt5": "UMT5ForConditionalGeneration",
        "llama that samples": "LlamaForCausalLM",
        "llama without metadata": "LlamaForCausalLM",
        "camembert": "CamembertForMaskedLM",
        "llava": "LlavaForConditionalGeneration",
        "qwen2_vl": "Qwen2VLForConditionalGeneration",
    }
    return getattr(transformers, classes[kind]).from_pretrained(place)


def _meaning(thing: Any) -> dict[str, Any]:
    """The meaning for every release, in words that do not depend on the release."""
    if os.environ["CASE_KIND"] in KINDS:
        return KINDS[os.environ["CASE_KIND"]].meaning(thing)
    if os.environ["CASE_KIND"] in ("tokenizer of bytes", "tokenizer of deberta"):
        return {"ids": thing("Hello 1212 abc")["input_ids"], "pair": thing("a", "b")["input_ids"]}
    if hasattr(thing, "all_special_ids"):
        return {
            "ids": thing(_written.TEXT)["input_ids"],
            "special": sorted(thing.all_special_ids),
            "decoded": thing.decode([9, 13, 5], skip_special_tokens=True),
            "chat": thing.apply_chat_template(_written.CHAT, tokenize=False),
        }
    if hasattr(thing, "state_dict"):
        # Prefixes differ between releases; the weights do not.
        sums = sorted(round(float(value.double().sum()), 3) for value in thing.state_dict().values())
        if os.environ["CASE_KIND"].startswith("llama"):
            return {"sums": sums, "temperature": thing.generation_config.temperature}
        return {
            "sums": sums,
            "type": thing.config.model_type,
            "tied": getattr(thing.config, "tie_word_embeddings", None),
        }
    known = {**(getattr(thing, "rope_scaling", None) or {}), **(getattr(thing, "rope_parameters", None) or {})}
    theta = getattr(thing, "rope_theta", None) or getattr(thing, "rotary_emb_base", None) or known.get("rope_theta")
    kind = known.get("rope_type") or known.get("type") or "default"
    fraction = getattr(thing, "rotary_pct", None) or known.get("partial_rotary_factor")
    return {
        "theta": float(theta),
        "type": {"su": "longrope"}.get(kind, kind),
        "factor": known.get("factor"),
        "fraction": fraction if thing.model_type == "gpt_neox" else None,
        "dtype": str(getattr(thing, "torch_dtype", None) or getattr(thing, "dtype", None)).rpartition(".")[2],
        "experts": getattr(thing, "num_experts", None) or getattr(thing, "num_local_experts", None),
    }
