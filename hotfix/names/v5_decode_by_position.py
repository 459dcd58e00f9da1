"""``decode`` of tokenizers takes ``clean_up_tokenization_spaces`` by name only.

Symptom   ``TypeError: PreTrainedTokenizerBase.decode() takes from 2 to 3 positional arguments but 4 were given``, from
          ``tokenizer.decode(ids, True, False)`` and from subclasses that pass their arguments on by position.
Cause     The argument has become one of the keyword arguments.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      After the TypeError, the third argument is passed by its name.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

_ERROR = "TypeError: PreTrainedTokenizerBase.decode() takes from 2 to 3 positional arguments but 4 were given"

FIX = Fix(title=_ERROR, kind="removed-api", group="removed-names", errors=(_ERROR,))


@FIX.wraps(("transformers.tokenization_utils_base:PreTrainedTokenizerBase.decode", ">=5.0.0"), on_error=(_ERROR,))
def by_name(original: Callable[..., Any]) -> Callable[..., Any]:
    """Pass the third argument by its name."""

    def decode(self: Any, *args: Any, **kwargs: Any) -> Any:
        *first, clean_up = args
        return original(self, *first, **{"clean_up_tokenization_spaces": clean_up, **kwargs})

    return decode


@FIX.recognises
def takes_two(function: ast.AST) -> bool:
    """The method without the argument."""
    if not isinstance(function, ast.FunctionDef) or function.name != "decode":
        return False
    names = [argument.arg for argument in function.args.args]
    return names == ["self", "token_ids", "skip_special_tokens"]
