"""Functions of another number of arguments, before or after this release.

Symptom   ``TypeError: GenerationMixin._get_initial_cache_position() missing 1 required positional argument:
          'model_kwargs'`` from a custom ``generate`` written before 4.52; ``TypeError: layer_type_validation() takes 1
          positional argument but 2 were given`` from remote code for 4.57 and later.
Cause     The first wants the length and the device of the tokens in place of the tokens. The second got a number that
          the list of layers is checked against.
Releases  4.52.1 to 5.2.0; 4.53.0 to 4.56.2
Upstream  lvr#9, inference#4803 (not put back)
Here      After the TypeError, tokens are replaced by their length and device, and a position that the arguments have is
          made anew, as in 4.51.3. The list of layers is checked as in 4.57.1.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

_POSITION = "transformers.generation.utils:GenerationMixin._get_initial_cache_position"
_LAYERS = "transformers.configuration_utils:layer_type_validation"
_MISSING = (
    "TypeError: GenerationMixin._get_initial_cache_position() missing 1 required positional argument: 'model_kwargs'"
)

FIX = Fix(
    title=_MISSING,
    kind="removed-api",
    upstream=("lvr#9", "inference#4803"),
    group="removed-names",
    prefilter="_",
    errors=(
        _MISSING,
        "TypeError: layer_type_validation() takes 1 positional argument but 2 were given",
        "TypeError: layer_type_validation() got an unexpected keyword argument 'num_hidden_layers'",
    ),
)


@FIX.wraps(
    (_POSITION, ">=4.52.1,<5.3.0"),
    on_error=("TypeError: …_get_initial_cache_position() missing 1 required positional argument: 'model_kwargs'",),
)
def of_tokens(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take tokens for their length and device."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and len(args) == 2 and hasattr(args[0], "device") and isinstance(args[1], dict):
            tokens, inputs = args
            inputs.pop("cache_position", None)
            args = (tokens.shape[1], tokens.device, inputs)
        return original(self, *args, **kwargs)

    return call


@FIX.wraps(
    (_LAYERS, ">=4.53.0,<4.57.0"),
    on_error=(
        "TypeError: layer_type_validation() takes 1 positional argument but 2 were given",
        "TypeError: layer_type_validation() got an unexpected keyword argument 'num_hidden_layers'",
    ),
)
def of_so_many(original: Callable[..., None]) -> Callable[..., None]:
    """Compare the number of layers as well."""

    def call(*args: Any, **kwargs: Any) -> None:
        count = args[1] if len(args) == 2 else kwargs.pop("num_hidden_layers", None)
        original(*args[:1], **kwargs)
        kinds = len(args[0] if args else kwargs["layer_types"])
        if count is not None and kinds != count:
            raise ValueError(f"`num_hidden_layers` ({count}) must be equal to the number of layer types ({kinds})")

    return call


@FIX.recognises
def lacks_the_other_form(function: ast.AST) -> bool:
    """One of the two, with the arguments of these releases alone."""
    if not isinstance(function, ast.FunctionDef):
        return False
    names = [argument.arg for argument in function.args.args]
    if function.name == "layer_type_validation":
        return names == ["layer_types"]
    if function.name != "_get_initial_cache_position" or "seq_length" not in names:
        return False
    return "[past_length:]" in ast.unparse(function)  # 5.3.0 wants the length of the new tokens alone
