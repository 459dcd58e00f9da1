"""A cache without a maximum returns -1 instead of None, and old code drops a column of the mask.

Symptom   Silent, or a mask that does not fit. Remote code such as that of Phi-3 and DeepSeek-V2 checks whether the
          maximum is None, takes -1 for a maximum, and cuts ``attention_mask[:, -max_length:]``: all but the first
          column.
Cause     The value for "no maximum" became -1: of ``get_max_cache_shape`` in 4.54.0, and of ``get_max_length``, which
          came back under its old name, in 5.13.0.
Releases  4.54.0 and later
Upstream  by design
Here      Callers that expect the old value get None, or the number of tokens, as in 4.48.3 and 4.53.3: remote code, and
          functions that also use other names of these releases, when they call without an argument. All other callers,
          the library and traced code included, get the release's value.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import caches
from hotfix.patching.compiling import is_compiling

MODULE = "transformers.cache_utils"

FIX = Fix(
    title="get_max_length() of a cache returns -1 instead of None, and remote code drops a column of the mask",
    kind="silent",
    optin="it changes the answer that a running program gets",
    group="removed-names",
    prefilter="get_max_",
    exempt={f"{MODULE}:EncoderDecoderCache.get_max_length": "to 4.48.3 that cache refused to answer"},
)


@FIX.wraps(
    (f"{MODULE}:Cache.get_max_length", ">=5.13.0"),
    (f"{MODULE}:Cache.get_max_cache_shape", ">=4.54.0,<5.20.0"),
    (f"{MODULE}:EncoderDecoderCache.get_max_cache_shape", ">=5.13.0,<5.20.0"),
)
def none_for_no_maximum(original: Callable[..., Any]) -> Callable[..., Any]:
    """The maximum, or None, for callers that expect None."""

    def ask(*args: Any, **kwargs: Any) -> Any:
        alone = len(args) == 1 and not kwargs
        if alone and not is_compiling() and caches.is_asked_the_old_way(sys._getframe(1)):
            return caches.maximum(args[0])
        return original(*args, **kwargs)

    return ask


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """It returns the value of one layer, which is -1 for a layer without a maximum."""
    return function.name.startswith("get_max_") and "layer_idx" in [argument.arg for argument in function.args.args]
