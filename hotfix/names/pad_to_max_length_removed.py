"""Fast tokenizers refuse ``pad_to_max_length=True``.

Symptom   ``TypeError: PreTrainedTokenizerFast._batch_encode_plus() got an unexpected keyword argument
          'pad_to_max_length'`` from ``tokenizer(text, max_length=64, pad_to_max_length=True)``.
Cause     The argument, which was deprecated in favour of ``padding``, is no longer taken out of those that are passed
          on.
Releases  4.52.1 to 4.57.6; 5.x ignores the argument
Upstream  not put back
Here      After the error, the call has ``padding="max_length"`` if it has a ``max_length``, or ``padding="longest"`` if
          it has none, and truncates to a ``max_length`` by default, as in 4.51.3. With a ``padding`` of its
          own the argument has no effect, as it had none.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, Callable

from hotfix.fix import Fix

_NAME = "pad_to_max_length"
_STRATEGIES = "_get_padding_truncation_strategies"
_ERROR = f"TypeError: …_batch_encode_plus() got an unexpected keyword argument '{_NAME}'"

FIX = Fix(
    title="TypeError: _batch_encode_plus() got an unexpected keyword argument 'pad_to_max_length'",
    kind="removed-api",
    group="removed-names",
    errors=(_ERROR,),
    on_error=True,
    prefilter=_STRATEGIES,
    exempt={f"transformers.tokenization_mistral_common:MistralCommonTokenizer.{_STRATEGIES}": "it never took it"},
)

BASE = "transformers.tokenization_utils_base:PreTrainedTokenizerBase"


@FIX.wraps(
    (f"{BASE}.encode_plus", ">=4.52.1,<5.0.0"),
    (f"{BASE}.batch_encode_plus", ">=4.52.1,<5.0.0"),
    fingerprint_of=(f"PreTrainedTokenizerBase.{_STRATEGIES}",),
)
def with_padding(original: Callable[..., Any]) -> Callable[..., Any]:
    """Encode with the newer argument."""
    signature = inspect.signature(original)

    def encode(*args: Any, **kwargs: Any) -> Any:
        is_padded = kwargs.pop(_NAME, False)
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        if is_padded and given.get("padding", False) is False:
            has_length = given.get("max_length") is not None
            given["padding"] = "max_length" if has_length else "longest"
            if has_length and given.get("truncation") is None:
                given["truncation"] = "longest_first"
        return original(*bound.args, **bound.kwargs)

    return encode


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """Strategies that leave the argument where it is; those of 5.x are not asked by these methods, and never warn."""
    text = ast.unparse(function)
    return function.name == _STRATEGIES and _NAME not in text and "deprecation_warnings" in text
