"""A cache without a maximum says -1 where it said None, and old code drops a column of the attention mask.

Symptom   Silent, or a mask that does not fit. Remote code of the manner of Phi-3 and DeepSeek-V2 asks whether the
          maximum is None, takes -1 for one, and cuts ``attention_mask[:, -max_length:]``: all but the first column.
Cause     The answer for "no maximum" became -1: of ``get_max_cache_shape`` in 4.54.0, and of ``get_max_length``, which
          came back under its old name, in 5.13.0.
Releases  4.54.0 and later
Upstream  by design
Here      Who asks the old way gets None, or the number of tokens, as in 4.48.3 and 4.53.3: remote code, and functions
          that use other names of these releases as well, which ask without an argument. Everybody else, the library
          included, and what torch.compile traces, gets what the release gives.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import caches

MODULE = "transformers.cache_utils"

FIX = Fix(
    title="A cache without a maximum says -1, and remote code drops the first column of the attention mask",
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
    """The maximum, None where there is none, for those who expect that."""
    import torch

    def ask(*args: Any, **kwargs: Any) -> Any:
        alone = len(args) == 1 and not kwargs
        if alone and not torch.compiler.is_compiling() and caches.is_asked_the_old_way(sys._getframe(1)):
            return caches.maximum(args[0])
        return original(*args, **kwargs)

    return ask


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """It answers for one layer, and so with what a layer says that has no maximum."""
    return function.name.startswith("get_max_") and "layer_idx" in [one.arg for one in function.args.args]
