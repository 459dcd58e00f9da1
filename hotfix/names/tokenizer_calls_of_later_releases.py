"""``decode`` takes no batch yet, and ``add_special_tokens`` does not know ``extra_special_tokens``.

Symptom   ``TypeError: argument 'ids': 'list' object cannot be interpreted as an integer`` from
          ``tokenizer.decode(outputs)``; ``AssertionError: Key extra_special_tokens is not a special token``.
Cause     5.0.0 made ``decode`` and ``batch_decode`` one, and renamed ``additional_special_tokens``.
Releases  before 5.0.0
Upstream  both came with 5.0.0
Here      After the error, a batch goes to the release's ``batch_decode``, and the key gets its old name. Tokenizers
          with a ``decode`` of their own (Whisper, Wav2Vec2) take no batch, as in the release.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

_NO_ID = "TypeError: argument 'ids': 'list' object cannot be interpreted as an integer"
_NO_INTEGER = "TypeError: int() argument must be a string, a bytes-like object or a …number, not 'list'"
_NO_KEY = "AssertionError: Key extra_special_tokens is not a special token"

FIX = Fix(
    title="TypeError: argument 'ids': 'list' object cannot be interpreted as an integer",
    kind="removed-api",
    fixed_in="5.0.0",
    group="removed-names",
    errors=(_NO_ID, _NO_INTEGER, _NO_KEY),
)

_BASE = "transformers.tokenization_utils_base"


@FIX.wraps((f"{_BASE}:PreTrainedTokenizerBase.decode", "<5.0.0"), on_error=(_NO_ID, _NO_INTEGER))
def batches_as_well(original: Callable[..., str]) -> Callable[..., Any]:
    """A list of texts for a list of sequences."""

    def decode(self: Any, token_ids: Any, *args: Any, **kwargs: Any) -> Any:
        rows = token_ids.tolist() if hasattr(token_ids, "tolist") else token_ids
        is_batch = isinstance(rows, (list, tuple)) and rows and all(isinstance(row, (list, tuple)) for row in rows)
        own = type(self).decode  # an override would get a list from super()
        if is_batch and own.__module__ == _BASE and scope.was_written_in("transformers", own):
            return self.batch_decode(rows, *args, **kwargs)
        return original(self, token_ids, *args, **kwargs)

    return decode


@FIX.wraps((f"{_BASE}:SpecialTokensMixin.add_special_tokens", "<5.0.0"), on_error=(_NO_KEY,))
def by_the_old_key(original: Callable[..., int]) -> Callable[..., int]:
    """The key that the release has for further special tokens."""

    def add_special_tokens(self: Any, special_tokens_dict: Any, *args: Any, **kwargs: Any) -> int:
        tokens = dict(special_tokens_dict)
        if "extra_special_tokens" in tokens and "additional_special_tokens" not in tokens:
            tokens["additional_special_tokens"] = tokens.pop("extra_special_tokens")
        return original(self, tokens, *args, **kwargs)

    return add_special_tokens


@FIX.recognises
def knows_the_old_form_only(function: ast.AST) -> bool:
    """One of the two methods of 4.x."""
    if not isinstance(function, ast.FunctionDef):
        return False
    names = [argument.arg for argument in function.args.args]
    if function.name == "decode":
        known = ["self", "token_ids", "skip_special_tokens", "clean_up_tokenization_spaces"]
        return names == known and "return self._decode(" in ast.unparse(function)
    return function.name == "add_special_tokens" and "replace_additional_special_tokens" in names
