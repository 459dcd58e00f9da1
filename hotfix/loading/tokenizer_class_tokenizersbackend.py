"""ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.

Symptom   `AutoTokenizer.from_pretrained` raises this in every release of 4.x for a tokenizer that 5.x has saved. A
          named class loads it, warns about another class, and keeps unknown keys when it saves the tokenizer.
Cause     A tokenizer that consists of its tokenizer.json is a `TokenizersBackend` in 5.x, and a
          `PreTrainedTokenizerFast` in 4.x. 5.x also writes keys about its process (`backend`, `is_local`).
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  mlx-lm#683, LLaMA-Factory#9699, transformers#47553 (the class came with transformers 5.0.0)
Here      The class gets its name of 4.x when tokenizer_config.json is read, and the keys of the process are removed.
          Ids, special tokens and chats are those of 5.x. Other classes that 4.x lacks still raise upstream's error. The
          settings of a tokenizer class of your own stay as they are, whatever the names of its arguments. A program
          that handles the ValueError gets it. For a class that the program names, the file stays as it is.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import carefully, is_asked_by_the_library, report, settings
from hotfix.loading.tokenizer_forms import renamed_class, tokenizer_class
from hotfix.patching import scope

FIX = Fix(
    title="ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported",
    kind="loading",
    upstream=("mlx-lm#683", "LLaMA-Factory#9699", "LLaMA-Factory#10310", "transformers#47553"),
    fixed_in="5.0.0",
    errors=("ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.",),
)

RELEASES = ">=4.36.0,<=4.57.6"
AUTO = "transformers.models.auto.tokenization_auto"
NAMES = f"{AUTO}:tokenizer_class_from_name"
BASE = "PreTrainedTokenizerBase._from_pretrained"
_renamed: set[str] = set()  # paths


@FIX.converts(
    (f"{AUTO}:get_tokenizer_config", RELEASES),
    name="result",
    at="result = json.load(reader)",
    given=("resolved_config_file",),
    unless="TokenizersBackend",
    fingerprint_of=("get_tokenizer_config", "tokenizer_class_from_name"),
)
def with_name_of_this_release(config: dict[str, Any], path: str) -> dict[str, Any]:
    """Rename the class in tokenizer_config.json to one that 4.x has; nothing else changes.

    Args:
        config: the content of the file.
        path: of the file.
    """
    asks = sys._getframe(2)

    def convert(config: dict[str, Any]) -> dict[str, Any]:
        result, findings = renamed_class(config, _of_the_program())
        if not findings or not is_asked_by_the_library(asks) or scope.is_handled(FIX.id, ValueError, asks):
            return config
        report(FIX, str(path), findings)
        _renamed.add(os.path.abspath(path))
        return result

    return carefully(FIX, str(path), config, convert)


@FIX.converts(
    (f"transformers.tokenization_utils_base:{BASE}", RELEASES),
    name="init_kwargs",
    at="init_kwargs = json.load(tokenizer_config_handle)",
    given=("tokenizer_config_file", "cls"),
    unless="TokenizersBackend",
    fingerprint_of=(BASE, NAMES),
)
def with_class_of_this_release(config: dict[str, Any], path: str, cls: type) -> dict[str, Any]:
    """Rename the class in tokenizer_config.json, and remove the keys of the process that wrote it.

    Args:
        config: the content of the file.
        path: of the file.
        cls: the tokenizer class.
    """
    is_renamed = os.path.abspath(path) in _renamed  # a class that the program names reads the file as it is
    return settings(FIX, tokenizer_class, config, path, cls) if is_renamed else config


def _of_the_program() -> frozenset[str]:
    """Names of the tokenizer classes that the program has registered."""
    mapping = getattr(sys.modules.get(AUTO), "TOKENIZER_MAPPING", None)
    pairs = getattr(mapping, "_extra_content", {}).values()
    return frozenset(getattr(cls, "__name__", "") for pair in pairs for cls in pair)
