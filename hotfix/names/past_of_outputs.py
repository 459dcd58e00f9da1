"""What the fixes of ``_extract_past_from_model_output`` share: who wants a pair, and what is in an output."""

from __future__ import annotations

import dis
import types
from functools import cache
from typing import Any

_NAMES = ("past_key_values", "mems", "past_buckets_states", "cache_params")


def wants_a_pair(caller: types.FrameType) -> bool:
    """Whether who calls takes what it gets apart at once, as in ``name, cache = ...``.

    Args:
        caller: its frame, at the call.
    """
    return _takes_apart(caller.f_code, caller.f_lasti)


def pair(outputs: Any) -> tuple[str, Any]:
    """The name under which a model gets its cache, and the cache; None where an output has none.

    Args:
        outputs: of a model.
    """
    name = next((one for one in _NAMES if one in outputs), "past_key_values")
    called = name if name == "cache_params" else "past_key_values"
    return called, getattr(outputs, name) if name in outputs else None


def alone(model: Any, outputs: Any, standardize_cache_format: bool) -> Any:
    """The cache, as in 4.41.2.

    Args:
        model: where it has a ``_convert_to_standard_cache``, that is used if asked for.
        outputs: of the model.
        standardize_cache_format: whether that is asked for.
    """
    _, cache = pair(outputs)
    if standardize_cache_format and hasattr(model, "_convert_to_standard_cache"):
        return model._convert_to_standard_cache(cache, batch_size=outputs.logits.shape[0])
    return cache


@cache
def _takes_apart(code: types.CodeType, at: int) -> bool:
    following = (one for one in dis.get_instructions(code) if one.offset > at and one.opname not in ("CACHE", "NOP"))
    return next((one.opname == "UNPACK_SEQUENCE" for one in following), False)
