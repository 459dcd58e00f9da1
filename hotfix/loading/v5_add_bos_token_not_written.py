"""A tokenizer that 5.x has saved without a first token gets one in 4.x, or loses its last one.

Symptom   Silent. Ids of a Llama, Gemma or Cohere tokenizer begin with the token for the beginning of a text although in
          5.x they do not, or lack the one for the end.
Cause     5.x leaves what is put around a text to the template in tokenizer.json, and writes `add_bos_token` and
          `add_eos_token` no longer. The classes of 4.x make the template anew from these, by default True and False.
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  not reported (5.0.0 goes by tokenizer.json)
Here      Where 5.x wrote the settings, and the class makes a template of its own, the two are read off the template of
          tokenizer.json. A template that they cannot make is left alone, as are settings that have one of them. Ids are
          those of 5.x; what the caller passes wins. A tokenizer class of your own stays as it is.
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
    title="A tokenizer that 5.x has saved without a first token gets one in 4.x, or loses its last one",
    kind="silent",
    fixed_in="5.0.0",
    order=1,  # of calls behind one statement the last that is put there comes first, and others take the key away
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
    """What stands in tokenizer_config.json, with what tokenizer.json puts around a text.

    Args:
        config: what was read.
        path: of the file.
        files: where the files of the tokenizer are.
        cls: its class.
    """
    tokenizer = files.get("tokenizer_file")
    if not tokenizer or not hasattr(cls, "update_post_processor"):
        return config

    def rule(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
        if not is_of_5x(config):
            return dict(config), []
        return ends_of_template(config, json.loads(Path(tokenizer).read_text(encoding="utf-8")))

    return settings(FIX, rule, config, path, cls)
