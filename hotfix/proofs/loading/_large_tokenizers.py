"""A fast tokenizer with more than 100,000 tokens, as Qwen, Llama 3 and DeepSeek have them, in a folder or a cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WORDS = ["the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "42"]
REPOSITORY = "organisation/large-tokenizer"


def write(folder: Path, config: dict[str, str] | None) -> Path:
    """Write a tokenizer, and next to it a configuration if there is one.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True)
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(["[UNK]", *WORDS]))}
    vocabulary.update((f"token{number}", number) for number in range(len(vocabulary), 100_010))
    tokenizer: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    described = {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder


def write_cache(cache: Path, config: dict[str, str] | None) -> Path:
    """Write a cache that has the tokenizer as `REPOSITORY`.

    Returns:
        The cache.
    """
    repository = cache / f"models--{REPOSITORY.replace('/', '--')}"
    commit = "0123456789abcdef0123456789abcdef01234567"
    write(repository / "snapshots" / commit, config)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    return cache
