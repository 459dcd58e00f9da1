"""A special token whose file says that it is special cannot be loaded.

Symptom   ``TypeError: tokenizers.AddedToken() got multiple values for keyword argument 'special'`` from
          ``AutoTokenizer.from_pretrained``.
Cause     The entries of ``special_tokens_map.json`` are passed on together with ``special=True``.
Releases  5.1.0 and 5.2.0
Upstream  transformers#44062 (fixed in 5.3.0)
Here      The word in the file is left out, unless the program handles the error. Equal to 5.3.0.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="TypeError: tokenizers.AddedToken() got multiple values for keyword argument 'special'",
    kind="loading",
    upstream=("transformers#44062",),
    fixed_in="5.3.0",
    errors=("TypeError: …AddedToken() got multiple values for keyword argument 'special'",),
    everyone="only entries for which the release raises: the new code looks at the entry",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase._from_pretrained", ">=5.1.0,<=5.2.0"),
    old="value = AddedToken(**value, special=True)",
    new=f"""
        from {__name__} import unmarked
        value = AddedToken(**unmarked(value), special=True)
    """,
    unless='value.pop("special", None)',
    beside='key != "extra_special_tokens"',
)


def unmarked(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the file without the word; as it is if the program handles the error."""
    if "special" not in entry or scope.is_handled(FIX.id, TypeError, sys._getframe(1)):
        return entry
    return {name: value for name, value in entry.items() if name != "special"}
