"""An override passes ``standardize_cache_format`` by position, where newer releases take the number of new tokens.

Symptom   Silent. A model writes nonsense after the first new token: the mask and the position stay where they were.
          Models and remote code with ``super()._update_model_kwargs_for_generation(outputs, model_kwargs,
          is_encoder_decoder, standardize_cache_format)``.
Cause     4.44.0 removed this argument; the next one, ``num_new_tokens``, has its place, and ``False`` is 0 tokens.
Releases  4.44.0 and later
Upstream  by design (not put back)
Here      ``False`` in this place is one token. Any other value is taken as it is.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, Callable

from hotfix.fix import Fix

_NAME = "_update_model_kwargs_for_generation"

FIX = Fix(
    title="generate() writes nonsense: an override passes standardize_cache_format=False by position",
    kind="silent",
    everyone="only where the number of new tokens is False, which is no number",
    exempt={f"transformers.models.*.{_NAME}": "a model of the library calls the one of the mix-in"},
)


@FIX.wraps((f"transformers.generation.utils:GenerationMixin.{_NAME}", ">=4.44.0"))
def of_one_token(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take ``False`` for one token."""

    @functools.wraps(original)
    def update(self: Any, outputs: Any, model_kwargs: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 2 and args[1] is False:
            args = args[:1]
        return original(self, outputs, model_kwargs, *args, **kwargs)

    return update


@FIX.recognises
def takes_the_number_in_its_place(function: ast.AST) -> bool:
    """The method whose fifth parameter, with ``self``, is the number of new tokens."""
    if not isinstance(function, ast.FunctionDef) or function.name != _NAME:
        return False
    return [argument.arg for argument in function.args.args][4:5] == ["num_new_tokens"]
