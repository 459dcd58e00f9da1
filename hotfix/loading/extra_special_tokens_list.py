"""AttributeError: 'list' object has no attribute 'keys', from a tokenizer that 5.x has saved.

Symptom   ``AttributeError: 'list' object has no attribute 'keys'`` while a tokenizer is loaded, from 4.47.0 on. Before,
          the tokens of the list are not special: `all_special_ids` lacks them.
Cause     5.x writes special tokens without a name of their own (for turns, tools, images) as the list
          `extra_special_tokens`. In 4.x that key is a dictionary of names, and the list is called
          `additional_special_tokens`.
Releases  4.36.0 to 4.57.6, all that 4.x has
Upstream  mlx-lm#661, transformers#45376, ms-swift#8352 (the list came with transformers 5.0.0)
Here      A list goes to `additional_special_tokens` where tokenizer_config.json is read; a dictionary stays. Special
          tokens are those of 5.x; saved again it is what this release writes. Before 4.47.0 the list also stays in
          `init_kwargs`, where work-arounds read it. A tokenizer class of your own gets its list under the name that the
          file gives it, and so does one before 4.47.0 where no 5.x wrote the file. The caller's `extra_special_tokens`
          take precedence. A program that handles the AttributeError gets it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from hotfix.fix import Fix
from hotfix.loading._reading import settings
from hotfix.loading.tokenizer_forms import extra_special_tokens
from hotfix.patching import scope

FIX = Fix(
    title="AttributeError: 'list' object has no attribute 'keys', from a tokenizer that 5.x has saved",
    kind="loading",
    errors=("AttributeError: 'list' object has no attribute 'keys'",),
    upstream=("mlx-lm#661", "transformers#44781", "transformers#45376", "ms-swift#8352"),
    fixed_in="5.0.0",
    order=1,  # it comes before tokenizer-class-tokenizersbackend, which takes away what shows that 5.x wrote the file
)

KEY = "extra_special_tokens"
NAMES = "transformers.models.auto.tokenization_auto:tokenizer_class_from_name"
BASE = "PreTrainedTokenizerBase._from_pretrained"


@FIX.converts(
    (f"transformers.tokenization_utils_base:{BASE}", ">=4.36.0,<=4.57.6"),
    name="init_kwargs",
    at="init_kwargs = json.load(tokenizer_config_handle)",
    given=("tokenizer_config_file", "cls", "kwargs"),
    unless="TokenizersBackend",
    fingerprint_of=(BASE, NAMES),
)
def with_special_tokens_of_this_release(
    config: dict[str, Any], path: str, cls: type, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Move the list in tokenizer_config.json to its name in 4.x.

    Args:
        config: the content of the file.
        path: of the file.
        cls: the tokenizer class.
        given: the caller's keyword arguments.
    """
    if KEY in given or not isinstance(config.get(KEY), (list, tuple)):
        return config
    is_refused = hasattr(cls, "_set_model_specific_special_tokens")  # since 4.47.0
    if is_refused and scope.is_handled(FIX.id, AttributeError, sys._getframe(2)):
        return config
    return settings(FIX, partial(extra_special_tokens, is_refused=is_refused), config, path, cls)
