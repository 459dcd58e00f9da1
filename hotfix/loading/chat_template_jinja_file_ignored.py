"""ValueError: Cannot use chat template functions because tokenizer.chat_template is not set.

Symptom   `apply_chat_template` raises this for a tokenizer whose folder has a `chat_template.jinja`; before 4.44.0 the
          template of its class is taken, which may be another one.
Cause     Since 4.52 the template is written into a file of its own, and no longer into tokenizer_config.json; releases
          before 4.47.0 do not look for it.
Releases  4.36.0 to 4.46.3
Upstream  text-generation-inference#3247, ms-swift#4358 (transformers 4.47.0 reads it)
Here      The file is among those that are looked for, and what stands in it is the template, before that of
          tokenizer_config.json, as in 4.47.0. A template that the caller passes wins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import carefully

FIX = Fix(
    id="chat-template-jinja-file-ignored",
    title="ValueError: Cannot use chat template functions because tokenizer.chat_template is not set",
    kind="loading",
    upstream=("text-generation-inference#3247", "ms-swift#4358", "transformers#33957"),
    fixed_in="4.47.0",
)

RELEASES = ">=4.36.0,<=4.46.3"
BASE = "transformers.tokenization_utils_base:PreTrainedTokenizerBase"
FILE = "chat_template.jinja"
KEY = "chat_template_file"


@FIX.converts(
    (f"{BASE}.from_pretrained", RELEASES),
    name="vocab_files",
    at="vocab_files = {**cls.vocab_files_names, **additional_files_names}",
    unless="'chat_template_file'",
)
def with_template_among_them(files: dict[str, Any]) -> dict[str, Any]:
    """The files of a tokenizer that are looked for.

    Args:
        files: their names, by what they are for.
    """
    return {**files, KEY: FILE}


@FIX.converts(
    (f"{BASE}._from_pretrained", RELEASES),
    name="init_kwargs",
    at="init_kwargs = json.load(tokenizer_config_handle)",
    given=("resolved_vocab_files",),
    unless="'chat_template_file'",
)
def with_template_of_its_file(config: dict[str, Any], files: dict[str, Any]) -> dict[str, Any]:
    """What stands in tokenizer_config.json, with the template that stands beside it.

    Args:
        config: what was read.
        files: where the files of the tokenizer are; that of the template is taken from it.
    """
    path = files.pop(KEY, None)
    if path is None:
        return config
    return carefully(FIX, FILE, config, lambda one: {**one, "chat_template": Path(path).read_text(encoding="utf-8")})
