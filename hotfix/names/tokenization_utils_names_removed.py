"""``transformers.tokenization_utils`` has lost most of its names.

Symptom   ``ImportError: cannot import name 'PreTrainedTokenizerBase' from 'transformers.tokenization_utils'`` from
          lm-format-enforcer, which says then that transformers is not installed; the same of ``TextInput``,
          ``PaddingStrategy``, ``BatchEncoding`` and others, and of ``_is_punctuation``, ``_is_control`` and
          ``_is_whitespace`` from tokenizers that were written after BERT's.
Cause     5.0.0 split the module; its name now refers to the part for sentencepiece.
Releases  5.0.0 and later
Upstream  lm-format-enforcer#175 (not put back)
Here      The names, from their present modules. They are added to that part, so the old module has them as well.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'PreTrainedTokenizerBase' from 'transformers.tokenization_utils'",
    kind="removed-api",
    upstream=("lm-format-enforcer#175",),
    group="removed-names",
    errors=("ImportError: cannot import name 'PreTrainedTokenizerBase' from 'transformers.tokenization_utils'",),
)

PLACE = "transformers.tokenization_utils_sentencepiece"

OF_ALL = (
    "BatchEncoding",
    "ENCODE_KWARGS_DOCSTRING",
    "ENCODE_PLUS_ADDITIONAL_KWARGS_DOCSTRING",
    "EncodedInput",
    "EncodedInputPair",
    "PaddingStrategy",
    "PreTokenizedInput",
    "PreTokenizedInputPair",
    "PreTrainedTokenizerBase",
    "TensorType",
    "TextInput",
    "TextInputPair",
    "TruncationStrategy",
)
OF_PYTHON = ("ExtensionsTrie", "Trie", "_is_control", "_is_punctuation", "_is_whitespace")

for _names, _leaf in (
    (OF_ALL, "transformers.tokenization_utils_base"),
    (OF_PYTHON, "transformers.tokenization_python"),
):
    FIX.exports(*[(f"{PLACE}:{_name}", ">=5.0.0") for _name in _names], leaf=_leaf)
