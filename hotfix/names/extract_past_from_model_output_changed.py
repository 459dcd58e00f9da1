"""``_extract_past_from_model_output`` returns a pair, and has lost an argument.

Symptom   4.42.0 to 4.43.4: remote code stores the pair as its cache; the text is garbled, or the next step fails. From
          4.44.0 on ``TypeError: GenerationMixin._extract_past_from_model_output() got an unexpected keyword argument
          'standardize_cache_format'``. ChatGLM2, ChatGLM3, GLM-4, CogVLM, CogAgent.
Cause     The method also returns the name of the cache, and its argument was removed two releases later.
Releases  4.42.0 to 4.48.3. From 4.49.0 on the method is gone: extract-past-from-model-output-removed.
Upstream  transformers#39336, ChatGLM3#1321, GLM-4#439 and nine more (not put back)
Here      A caller that passes the argument and does not unpack the result gets the cache alone, as in 4.41.2; all other
          callers get the release's result.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.names import past_of_outputs

FIX = Fix(
    title="TypeError: _extract_past_from_model_output() got an unexpected argument 'standardize_cache_format'",
    kind="removed-api",
    upstream=("transformers#39336", "ChatGLM3#1321", "GLM-4#439"),
    optin="to 4.43.4 it changes what a running program gets",
    group="removed-names",
    errors=(
        "TypeError: …_extract_past_from_model_output() got an unexpected keyword argument 'standardize_cache_format'",
    ),
    prefilter="_extract_past_from_model_output",
)


@FIX.wraps(("transformers.generation.utils:GenerationMixin._extract_past_from_model_output", ">=4.42.0,<4.49.0"))
def by_what_is_asked(original: Callable[..., Any]) -> Callable[..., Any]:
    """The cache alone for callers that pass the old argument."""

    def extract(*args: Any, **kwargs: Any) -> Any:
        if "standardize_cache_format" in kwargs and not past_of_outputs.wants_a_pair(sys._getframe(1)):
            return past_of_outputs.alone(*args, **kwargs)
        return original(*args, **kwargs)

    return extract


@FIX.recognises
def is_broken(function: ast.AST) -> bool:
    """It returns a pair."""
    is_it = getattr(function, "name", "") == "_extract_past_from_model_output"
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return is_it and any(isinstance(node, ast.Tuple) for node in returned)
