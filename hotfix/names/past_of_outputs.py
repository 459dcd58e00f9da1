"""Helpers of the fixes for ``_extract_past_from_model_output``: what a caller expects, and the cache of an output."""

from __future__ import annotations

import dis
import types
from functools import cache
from typing import Any

_NAMES = ("past_key_values", "mems", "past_buckets_states", "cache_params")


def wants_a_pair(caller: types.FrameType) -> bool:
    """Whether a caller unpacks the result at once, as in ``name, cache = ...``.

    Args:
        caller: its frame, at the call.
    """
    return _takes_apart(caller.f_code, caller.f_lasti)


def pair(outputs: Any) -> tuple[str, Any]:
    """The keyword under which a model gets its cache, and the cache; None if an output has none.

    Args:
        outputs: the outputs of a model.
    """
    name = next((key for key in _NAMES if key in outputs), "past_key_values")
    called = name if name == "cache_params" else "past_key_values"
    return called, getattr(outputs, name) if name in outputs else None


def alone(model: Any, outputs: Any, standardize_cache_format: bool) -> Any:
    """The cache, as in 4.41.2.

    Args:
        model: the model; it may have a ``_convert_to_standard_cache``.
        outputs: the outputs of the model.
        standardize_cache_format: whether to use that method.
    """
    _, cache = pair(outputs)
    if standardize_cache_format and hasattr(model, "_convert_to_standard_cache"):
        return model._convert_to_standard_cache(cache, batch_size=outputs.logits.shape[0])
    return cache


@cache
def _takes_apart(code: types.CodeType, at: int) -> bool:
    instructions = dis.get_instructions(code)
    following = (each for each in instructions if each.offset > at and each.opname not in ("CACHE", "NOP"))
    return next((each.opname == "UNPACK_SEQUENCE" for each in following), False)
