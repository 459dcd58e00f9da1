"""Byte-level tokenizers that are made on the spot, in the layouts that people publish, and texts that are awkward."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_WORDS = (
    "the", "hello", "world", "def", "return", "numbers", "don't", "année", "straße", "Привет", "你好", "世界", "これは",
    "2023", "12", "34", "567", "100", "print", "self", "  ", "\n\n", "\t", "...", "==", "()", "🙂",
)  # fmt: skip
_LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DEEPSEEK = (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-퟿]+")
_BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def _cut(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


# Name of a layout, its class, its type of model, and how it splits text.
LAYOUTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "DeepSeek": (
        "LlamaTokenizerFast",
        "llama",
        {
            "type": "Sequence",
            "pretokenizers": [*map(_cut, _DEEPSEEK), {"type": "Digits", "individual_digits": True}, _BYTES],
        },
    ),
    "R1 distillation": (
        "LlamaTokenizerFast",
        "llama",
        {"type": "Sequence", "pretokenizers": [_cut(_LLAMA_3), _BYTES]},
    ),
    "Granite": (
        "GPT2TokenizerFast",
        "granite",
        {"type": "Sequence", "pretokenizers": [_cut(r"\p{N}{1,3}"), {**_BYTES, "use_regex": True}]},
    ),
    "StableLM": (
        "GPTNeoXTokenizerFast",
        "stablelm",
        {
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": True}, {**_BYTES, "use_regex": True}],
        },
    ),
    "GPT-2": ("GPT2TokenizerFast", "gpt2", {**_BYTES, "use_regex": True}),
}

TEXTS = (
    "hello world", " hello", "hello ", "hello  world", "hello   world  ", "", " ", "   ", "\n", "\n\n", "hello\nworld",
    "hello\n\n  world", "\thello", "a\tb\r\nc", "2023", "in 2023, 12345 numbers", "3.14159", "1,000,000", "-1e-10",
    "don't", "DON'T", "we'll've", "année", "straße", "Привет, мир", "你好世界", "你好 2023年", "これはペンです",
    "안녕하세요",
    "🙂", "👩‍👩‍👧", "a🙂b", "def f(x):\n    return x == 1", "self.__init__(**kwargs)", "...", "!?!?", "x=1;y=2",
    "\u00a0non\u00a0breaking", "e\u0301", "mixed 中文 and english 123 🙂\n",
)  # fmt: skip


def folder_of(layout: str, folder: Path) -> Path:
    """Write tokenizer.json, tokenizer_config.json and config.json of a layout.

    Args:
        layout: one of `LAYOUTS`.
        folder: where; it is made.
    """
    name, model_type, before = LAYOUTS[layout]
    folder.mkdir(parents=True)
    vocabulary, merges = _model()
    ends = ["<|begin|>", "<|end|>"]
    added = [
        {
            "id": len(vocabulary) + number,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number, token in enumerate(ends)
    ]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": layout == "R1 distillation",
        "vocab": vocabulary,
        "merges": [f"{part} {other}" for part, other in merges],
    }
    said = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": before,
        "post_processor": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": model,
    }
    configuration = {
        "tokenizer_class": name,
        "bos_token": ends[0],
        "eos_token": ends[1],
        "clean_up_tokenization_spaces": False,
        "model_max_length": 2048,
    }
    if not name.startswith("Llama"):
        configuration["unk_token"] = ends[1]
    for file, content in (
        ("tokenizer.json", said),
        ("tokenizer_config.json", configuration),
        ("config.json", {"model_type": model_type}),
    ):
        (folder / file).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return folder


def _model() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """The letters for bytes, and some words merged from left to right, with and without a space."""
    from tokenizers.pre_tokenizers import ByteLevel

    letters = sorted(ByteLevel.alphabet())
    merges: list[tuple[str, str]] = []
    for word in (*_WORDS, *(f" {text}" for text in _WORDS)):
        spelled = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(word)[0][0]
        for end in range(1, len(spelled)):
            pair = (spelled[:end], spelled[end])
            if pair not in merges:
                merges.append(pair)
    pieces = [*letters, *dict.fromkeys("".join(pair) for pair in merges)]
    return {piece: number for number, piece in enumerate(pieces)}, merges
