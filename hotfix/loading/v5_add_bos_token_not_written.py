"""A tokenizer that 5.x has saved without a first token gets one in 4.x, or loses its last one.

Symptom   Silent. Ids of a Llama, Gemma or Cohere tokenizer begin with the BOS token although in 5.x they do not, or
          lack the EOS token.
Cause     5.x keeps special tokens around a text in the template of tokenizer.json, and no longer writes
          `add_bos_token` and `add_eos_token`. The classes of 4.x build the template from these, by default True and
          False.
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  not reported (5.0.0 reads tokenizer.json)
Here      If 5.x wrote the settings, and the class builds a template, the two are derived from the template in
          tokenizer.json. A template that they cannot express is left alone, as are settings with one of them. Ids are
          those of 5.x. The caller's arguments take precedence. A tokenizer class of your own stays as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import settings
from hotfix.loading.forms import Finding
from hotfix.loading.tokenizer_forms import ends_of_template, is_of_5x

FIX = Fix(
    title="Tokenizers saved by transformers 5.x get a BOS token in 4.x, or lose their EOS token",
    kind="silent",
    fixed_in="5.0.0",
    order=1,  # the last call that is inserted after a statement runs first, and others remove the key
)

NAMES = "transformers.models.auto.tokenization_auto:tokenizer_class_from_name"
BASE = "PreTrainedTokenizerBase._from_pretrained"


@FIX.converts(
    (f"transformers.tokenization_utils_base:{BASE}", ">=4.36.0,<=4.57.6"),
    name="init_kwargs",
    at="init_kwargs = json.load(tokenizer_config_handle)",
    given=("tokenizer_config_file", "resolved_vocab_files", "cls"),
    unless="TokenizersBackend",
    fingerprint_of=(BASE, NAMES),
)
def with_ends_of_its_template(config: dict[str, Any], path: str, files: dict[str, Any], cls: type) -> dict[str, Any]:
    """Add ``add_bos_token`` and ``add_eos_token`` to tokenizer_config.json, derived from tokenizer.json.

    Args:
        config: the content of the file.
        path: path of the file.
        files: paths of the tokenizer's files.
        cls: the tokenizer class.
    """
    tokenizer = files.get("tokenizer_file")
    if not tokenizer or not hasattr(cls, "update_post_processor"):
        return config

    def rule(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
        if not is_of_5x(config):
            return dict(config), []
        return ends_of_template(config, json.loads(Path(tokenizer).read_text(encoding="utf-8")))

    return settings(FIX, rule, config, path, cls)
