"""ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported.

Symptom   `AutoTokenizer.from_pretrained` of what 5.x has saved raises this in every release of 4.x. With a class that
          is asked for by name it loads, warns of another class, and writes what it does not know when it is saved.
Cause     5.x calls a tokenizer that is nothing but its tokenizer.json `TokenizersBackend`; in 4.x that is
          `PreTrainedTokenizerFast`. Beside it stand keys of the process that wrote the file (`backend`, `is_local`).
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  mlx-lm#683, LLaMA-Factory#9699, transformers#47553 (the class came with transformers 5.0.0)
Here      The class has its name of 4.x where tokenizer_config.json is read, and the keys of the process are gone. Ids,
          special tokens and chats are those of 5.x. Other classes that 4.x lacks stay upstream's error.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import settings
from hotfix.loading.tokenizer_forms import tokenizer_class

FIX = Fix(
    id="tokenizer-class-tokenizersbackend",
    title="ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported",
    kind="loading",
    upstream=("mlx-lm#683", "LLaMA-Factory#9699", "LLaMA-Factory#10310", "transformers#47553"),
    fixed_in="5.0.0",
)

RELEASES = ">=4.36.0,<=4.57.6"
AUTO = "transformers.models.auto.tokenization_auto"
NAMES = f"{AUTO}:tokenizer_class_from_name"
BASE = "PreTrainedTokenizerBase._from_pretrained"


@FIX.converts(
    (f"{AUTO}:get_tokenizer_config", RELEASES),
    name="result",
    at="result = json.load(reader)",
    given=("resolved_config_file",),
    unless="TokenizersBackend",
    fingerprint_of=("get_tokenizer_config", "tokenizer_class_from_name"),
)
def with_class_of_this_release(config: dict[str, Any], path: str) -> dict[str, Any]:
    """What stands in tokenizer_config.json, with a class that 4.x has.

    Args:
        config: what was read.
        path: of the file.
    """
    return settings(FIX, tokenizer_class, config, path)


FIX.converts(
    (f"transformers.tokenization_utils_base:{BASE}", RELEASES),
    name="init_kwargs",
    at="init_kwargs = json.load(tokenizer_config_handle)",
    given=("tokenizer_config_file",),
    unless="TokenizersBackend",
    fingerprint_of=(BASE, NAMES),
)(with_class_of_this_release)
