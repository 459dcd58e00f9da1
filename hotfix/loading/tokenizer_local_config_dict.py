"""A large tokenizer in a local folder cannot be loaded.

Symptom   ``AttributeError: 'dict' object has no attribute 'model_type'`` from ``AutoTokenizer.from_pretrained(folder)``
          for every fast tokenizer with more than 100,000 tokens (Qwen, Llama 3, DeepSeek) next to a ``config.json``.
Cause     To find Mistral tokenizers with an outdated pattern, the release reads ``config.json``, and uses the
          dictionary like an object.
Releases  4.57.2
Upstream  transformers#42389 (fixed in 4.57.3)
Here      The key is read from the dictionary. Ids are those of 4.57.3. A folder without ``config.json``, or written by
          5.x, counts as Mistral's as before: it loads without an error, and ``fix_mistral_regex=True`` works. A program
          that handles the AttributeError gets it.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="AutoTokenizer.from_pretrained(folder) raises: 'dict' object has no attribute 'model_type'",
    kind="loading",
    upstream=("transformers#42369", "transformers#42374", "transformers#42389"),
    errors=("AttributeError: 'dict' object has no attribute 'model_type'",),
    everyone="only where the release's own expression raises: a dictionary has no attribute of that name",
    fixed_in="4.57.3",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase._from_pretrained", "==4.57.2"),
    old=(
        'transformers_version = _config.get("transformers_version")',
        '_config.model_type not in ["mistral", "mistral3", "voxstral", "ministral", "pixtral"]',
    ),
    new=(
        f'transformers_version = _config.get("transformers_version")\nfrom {__name__} import model_type',
        'model_type(_config) not in [None, "mistral", "mistral3", "voxtral", "ministral", "pixtral"]',
    ),
)


def model_type(config: Any) -> Any:
    """The kind of a model; the release's own error where the program handles that.

    Args:
        config: the content of ``config.json``.
    """
    if isinstance(config, dict) and not scope.is_handled(FIX.id, AttributeError, sys._getframe(1)):
        return config.get("model_type")
    return config.model_type
