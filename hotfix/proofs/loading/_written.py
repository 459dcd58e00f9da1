"""Files of 5.23.0, as the cases read them; `tests/fixes/loading` compares them with the real release.

The cases contain them so that they run with one installed release, also on a user's machine.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WRITER = "5.23.0"

_SIZES: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
    "dtype": "bfloat16",
    "transformers_version": WRITER,
}

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": {
        **_SIZES,
        "model_type": "llama",
        "num_key_value_heads": 2,
        "head_dim": 8,
        "rope_parameters": {"factor": 4.0, "rope_theta": 500000.0, "rope_type": "linear"},
    },
    "MistralForCausalLM": {
        **_SIZES,
        "model_type": "mistral",
        "num_key_value_heads": 2,
        "head_dim": 8,
        "sliding_window": 4096,
        "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
    },
    "GPTNeoXForCausalLM": {
        **_SIZES,
        "model_type": "gpt_neox",
        "rope_parameters": {"partial_rotary_factor": 0.5, "rope_theta": 20000.0, "rope_type": "default"},
    },
}
"""The relevant keys of ``config.json``, by model."""

PLAIN: dict[str, Any] = {
    **{key: value for key, value in _SIZES.items() if key != "dtype"},
    "model_type": "llama",
    "num_key_value_heads": 2,
    "rope_theta": 500000.0,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.41.2",
}
"""A file of 4.x, which needs no translation."""

SETTINGS: dict[str, Any] = {
    "backend": "tokenizers",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "extra_special_tokens": ["<|turn|>", "<image>"],
    "model_max_length": 1000000000000000019884624838656,
    "pad_token": "<unk>",
    "tokenizer_class": "TokenizersBackend",
    "unk_token": "<unk>",
}
"""``tokenizer_config.json``."""

TEMPLATE = "{% for m in messages %}<|turn|> {{ m['role'] }} : {{ m['content'] }} </s> {% endfor %}"
"""``chat_template.jinja``."""

_WORDS = ("<unk>", "<s>", "</s>", "<|turn|>", "<image>", "who", "reads", "it", "all", "of", "us", "user", ":", ".")

TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [
        {
            "id": number,
            "content": word,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number, word in enumerate(_WORDS[:5])
    ],
    "normalizer": None,
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": None,
    "decoder": None,
    "model": {
        "type": "WordLevel",
        "vocab": {word: number for number, word in enumerate(_WORDS)},
        "unk_token": "<unk>",
    },
}
"""``tokenizer.json``, of words."""

TEXT = "<s> who reads it : <image> all of us . </s>"
CHAT = [{"role": "user", "content": "who reads it"}]


@contextmanager
def folder(**files: Any) -> Iterator[str]:
    """A folder with files, by name with ``_`` in place of the dot.

    Args:
        files: text, or a value that is written as JSON.
    """
    with tempfile.TemporaryDirectory() as place:
        for name, value in files.items():
            stem, _, suffix = name.rpartition("_")
            text = value if isinstance(value, str) else json.dumps(value)
            Path(place, f"{stem}.{suffix}").write_text(text, encoding="utf-8")
        yield place


def tokenizer(settings: Mapping[str, Any] = SETTINGS, **files: Any) -> Any:
    """A folder with a tokenizer; its settings and more files may be given."""
    return folder(tokenizer_config_json=dict(settings), tokenizer_json=TOKENIZER, **files)
