"""ValueError: Cannot use chat template functions because tokenizer.chat_template is not set.

Symptom   `apply_chat_template` raises this for a tokenizer whose folder has a `chat_template.jinja`; before 4.44.0 the
          template of its class is taken, which may be another one.
Cause     Since 4.52 the template is written into a file of its own, and no longer into tokenizer_config.json; releases
          before 4.47.0 do not look for it.
Releases  4.36.0 to 4.46.3
Upstream  text-generation-inference#3247, ms-swift#4358 (transformers 4.47.0 reads it)
Here      The file is among those that are looked for, and its content is the template, as in 4.47.0. A template that
          the caller passes wins. Where tokenizer_config.json has a template as well, no later release wrote the two,
          and that template stays; a tokenizer class of your own stays as it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.loading._reading import carefully, is_of_the_library

FIX = Fix(
    title="ValueError: Cannot use chat template functions because tokenizer.chat_template is not set",
    kind="loading",
    upstream=("text-generation-inference#3247", "ms-swift#4358", "transformers#33957"),
    errors=(
        "ValueError: Cannot use chat template functions because tokenizer.chat_template is not set…",
        "ValueError: Cannot use apply_chat_template() because tokenizer.chat_template is not set…",
    ),
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
    given=("cls", "pretrained_model_name_or_path", "subfolder"),
    unless="'chat_template_file'",
)
def with_template_among_them(files: dict[str, Any], cls: type, name: str, subfolder: Optional[str]) -> dict[str, Any]:
    """The files of a tokenizer that are looked for.

    Args:
        files: their names, by what they are for.
        cls: the tokenizer class.
        name: a folder, or the name of a repository. A folder without the file is read as in the release.
        subfolder: of either, or None.
    """
    if KEY in files or not is_of_the_library(cls):
        return files
    folder = Path(name, subfolder or "")
    return {**files, KEY: FILE} if not folder.is_dir() or (folder / FILE).is_file() else files


@FIX.converts(
    (f"{BASE}._from_pretrained", RELEASES),
    name="init_kwargs",
    at=("init_kwargs = json.load(tokenizer_config_handle)", "init_kwargs = init_configuration"),
    given=("resolved_vocab_files", "cls"),
    unless="'chat_template_file'",
)
def with_template_of_its_file(config: dict[str, Any], files: dict[str, Any], cls: type) -> dict[str, Any]:
    """What stands in tokenizer_config.json, with the template that stands beside it.

    Args:
        config: what was read; without that file, what the caller passed.
        files: where the files of the tokenizer are; that of the template is taken from it.
        cls: the tokenizer class; one of your own may have asked for the file itself.
    """
    path = files.pop(KEY, None) if is_of_the_library(cls) else None
    if path is None or config.get("chat_template"):
        return config
    return carefully(FIX, FILE, config, lambda read: {**read, "chat_template": Path(path).read_text(encoding="utf-8")})
