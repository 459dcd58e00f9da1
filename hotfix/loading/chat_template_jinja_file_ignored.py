"""ValueError: Cannot use chat template functions because tokenizer.chat_template is not set.

Symptom   `apply_chat_template` raises this for a tokenizer whose folder has a `chat_template.jinja`. Before 4.44.0 it
          takes the template of the tokenizer's class, which may be another one.
Cause     Since 4.52 the template has a file of its own, and is no longer in tokenizer_config.json. Releases before
          4.47.0 do not look for this file.
Releases  4.36.0 to 4.46.3
Upstream  text-generation-inference#3247, ms-swift#4358 (transformers 4.47.0 reads it)
Here      The file is read as the template, as in 4.47.0. A template from the caller takes precedence. So does a
          template in tokenizer_config.json, since no later release writes both. A tokenizer class of your own stays as
          it is, and so does a folder without a tokenizer.
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
    """Add chat_template.jinja to the files that a tokenizer looks for.

    Args:
        files: names of files, by purpose.
        cls: the tokenizer class.
        name: a folder, or the name of a repository. A folder without the file, or with nothing else, is read as in the
            release.
        subfolder: of either, or None.
    """
    if KEY in files or not is_of_the_library(cls):
        return files
    folder = Path(name, subfolder or "")
    if folder.is_dir():
        # Without a file of the tokenizer's own, the release raises an OSError: the template does not count.
        own = any((folder / file).is_file() for file in files.values() if file)
        if not own or not (folder / FILE).is_file():
            return files
    return {**files, KEY: FILE}


@FIX.converts(
    (f"{BASE}._from_pretrained", RELEASES),
    name="init_kwargs",
    at=("init_kwargs = json.load(tokenizer_config_handle)", "init_kwargs = init_configuration"),
    given=("resolved_vocab_files", "cls"),
    unless="'chat_template_file'",
)
def with_template_of_its_file(config: dict[str, Any], files: dict[str, Any], cls: type) -> dict[str, Any]:
    """Add the template from its own file to the settings of a tokenizer.

    Args:
        config: the content of tokenizer_config.json, or the caller's arguments where there is no such file.
        files: paths of the tokenizer's files; the path of the template is removed.
        cls: the tokenizer class; one of your own may have asked for the file itself.
    """
    path = files.pop(KEY, None) if is_of_the_library(cls) else None
    if path is None or config.get("chat_template"):
        return config
    return carefully(FIX, FILE, config, lambda read: {**read, "chat_template": Path(path).read_text(encoding="utf-8")})
