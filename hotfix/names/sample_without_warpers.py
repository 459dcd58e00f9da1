"""``_sample`` requires the warpers that a later ``generate`` does not pass.

Symptom   ``TypeError: GenerationMixin._sample() missing 1 required positional argument: 'logits_warper'`` from classes
          with a ``generate`` of their own that was written for 4.45 or later, such as that of Parler-TTS.
Cause     Up to 4.44.2 the warpers (temperature, ``top_k`` and others) came next to the processors; since 4.45.0 they
          are the last processors.
Releases  4.43.0 to 4.44.2
Upstream  parler-tts#132; the argument was removed in 4.45.0
Here      After the error, there are no warpers besides the processors.
"""

from __future__ import annotations

import ast
from functools import wraps
from importlib import import_module
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="TypeError: GenerationMixin._sample() missing 1 required positional argument: 'logits_warper'",
    kind="removed-api",
    upstream=("parler-tts#132",),
    fixed_in="4.45.0",
    group="removed-names",
    errors=("TypeError: GenerationMixin._sample() missing 1 required positional argument: 'logits_warper'",),
    on_error=True,
)


@FIX.wraps(("transformers.generation.utils:GenerationMixin._sample", ">=4.43.0,<4.45.0"))
def without_warpers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Called without them, it has an empty list."""

    @wraps(original)
    def _sample(self: Any, *args: Any, **kwargs: Any) -> Any:
        none = import_module("transformers.generation.logits_process").LogitsProcessorList()
        return original(self, *args, **{"logits_warper": none, **kwargs})

    return _sample


@FIX.recognises
def requires_warpers(function: ast.AST) -> bool:
    """Whether its parameter ``logits_warper`` has no default."""
    if not isinstance(function, ast.FunctionDef):
        return False
    names = [argument.arg for argument in function.args.args]
    required = names[: len(names) - len(function.args.defaults)]
    return "logits_warper" in required
