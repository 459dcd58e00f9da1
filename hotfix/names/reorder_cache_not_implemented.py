"""Models refuse ``_reorder_cache``, with which beam searches of a program's own choose rows of a cache.

Symptom   ``NotImplementedError: Make sure that a `_reorder_cache` function is correctly implemented in
          transformers.models.llama.modeling_llama``.
Cause     Llama, Mistral, Qwen2 and others lost their methods, because caches reorder themselves. The common method
          refuses.
Releases  4.43.0 to 4.53.3
Upstream  weak-to-strong-search#5 (not put back)
Here      After the error, the chosen rows of a cache or of tuples; what was given stays as it is, as in 4.42.4. It is
          the release's error for models that the library does not define, and for caches of other kinds than dynamic
          ones.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names._reordering import is_reordered, reordered

FIX = Fix(
    title="NotImplementedError: Make sure that a `_reorder_cache` function is correctly implemented",
    kind="removed-api",
    group="removed-names",
    upstream=("weak-to-strong-search#5",),
    errors=("NotImplementedError: Make sure that a `_reorder_cache` function is correctly implemented in …",),
    on_error=True,
)


@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin._reorder_cache", ">=4.43.0,<=4.53.3"),
    fingerprint_of=("GenerationMixin._reorder_cache", "transformers.models.llama.modeling_llama:LlamaForCausalLM"),
)
def for_caches(original: Callable[..., Any]) -> Callable[..., Any]:
    """Reorder what every model of the library has."""

    def _reorder_cache(self: Any, past_key_values: Any, beam_idx: Any) -> Any:
        kinds = [kind for kind in type(self).__mro__ if kind.__module__.startswith("transformers.models.")]
        if not kinds or not is_reordered(past_key_values) or "forward" in self.__dict__:
            return original(self, past_key_values, beam_idx)
        return reordered(past_key_values, beam_idx)

    return _reorder_cache


@FIX.recognises
def is_refused(method: ast.AST, model: ast.AST) -> bool:
    """The common method refuses, and Llama has none of its own."""
    return "NotImplementedError" in ast.unparse(method) and "_reorder_cache" not in ast.unparse(model)
