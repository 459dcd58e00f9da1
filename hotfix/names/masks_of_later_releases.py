"""Masks are asked for by the argument names of later releases.

Symptom   ``TypeError: create_causal_mask() got an unexpected keyword argument 'inputs_embeds'``, or ``missing 1
          required positional argument: 'cache_position'``, from remote code for 5.x.
Cause     5.2.0 renamed ``input_embeds``, and from 5.4.0 on the positions are those that follow the cache.
Releases  4.53.0 to 5.3.0
Upstream  the names came with 5.2.0 and 5.4.0
Here      After the TypeError, the call is repeated with the release's names. Positions that are missing follow the
          tokens in the cache. 4.53 does not take ``position_ids``: they are left out where there is a mask or a cache,
          with which later releases do not look at them. A configuration with ``is_causal=False`` raises as before, and
          so does a chunked mask, whose chunks of 4.53 are others in a padded batch.
"""

from __future__ import annotations

import ast
import inspect
from typing import Any, Callable

from hotfix.fix import Fix

MASKS = (
    "create_causal_mask",
    "create_sliding_window_causal_mask",
    "create_masks_for_generate",
)

FIX = Fix(
    title="TypeError: create_causal_mask() got an unexpected keyword argument 'inputs_embeds'",
    kind="removed-api",
    fixed_in="5.4.0",
    group="removed-names",
    prefilter="cache_position",
    errors=(
        *(f"TypeError: {name}() got an unexpected keyword argument 'inputs_embeds'" for name in MASKS[:2]),
        *(f"TypeError: {name}() missing 1 required positional argument: 'cache_position'" for name in MASKS),
        "TypeError: create_masks_for_generate() missing 2 required positional arguments: 'input_embeds' and "
        "'cache_position'",
    ),
    on_error=(
        "TypeError: create_…() got an unexpected keyword argument …",
        "TypeError: create_…() missing … required positional argument…",
    ),
)


@FIX.wraps(*((f"transformers.masking_utils:{name}", ">=4.53.0,<=5.3.0") for name in MASKS))
def by_names_of_the_release(original: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a later release."""
    known = list(inspect.signature(original).parameters)

    def create_mask(*args: Any, **kwargs: Any) -> Any:
        if "inputs_embeds" in kwargs and "inputs_embeds" not in known and "input_embeds" not in kwargs:
            kwargs["input_embeds"] = kwargs.pop("inputs_embeds")
        values = {**dict(zip(known, args)), **kwargs}
        if "position_ids" in kwargs and "position_ids" not in known:
            others = (kwargs["position_ids"], values.get("attention_mask"), values.get("past_key_values"))
            if others[0] is None or others[1] is not None or others[2] is not None:
                del kwargs["position_ids"]
        if "cache_position" not in values and getattr(values.get("config"), "is_causal", True) is not False:
            kwargs["cache_position"] = _after(values)
        return original(*args, **kwargs)

    return create_mask


def _after(values: dict[str, Any]) -> Any:
    """The positions of the new tokens: those that follow the tokens in the cache."""
    import torch

    inputs: Any = values.get("input_embeds", values.get("inputs_embeds"))
    cache = values.get("past_key_values")
    start = 0 if cache is None else cache.get_seq_length()
    return torch.arange(start, start + inputs.shape[1], device=inputs.device)


@FIX.recognises
def asks_for_positions(function: ast.AST) -> bool:
    """Whether it is one of the functions, and cannot be called without positions."""
    if not isinstance(function, ast.FunctionDef) or function.name not in MASKS:
        return False
    if any(ast.unparse(decorator) == "staticmethod" for decorator in function.decorator_list):
        return False  # a model's own, which other code does not call
    arguments = [argument.arg for argument in function.args.args]
    required = arguments[: len(arguments) - len(function.args.defaults)]
    return "cache_position" in required
