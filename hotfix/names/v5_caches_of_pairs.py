"""Loops over a cache get three values for a layer, and ``generate()`` refuses a cache that is a tuple.

Symptom   ``ValueError: too many values to unpack (expected 2)`` from ``for key, value in past_key_values``, and
          ``(expected 4)`` for an encoder with a decoder; ``ValueError: Passing a tuple of `past_key_values` is not
          supported anymore``.
Cause     A loop also yields the window of a layer, and the support for tuples of tuples was removed.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      A ``for`` that unpacks two values of a `DynamicCache`, or four of an `EncoderDecoderCache`, gets them as in
          4.57.6; so does one over ``enumerate(cache)``. The bytecode of the loop decides, so that every other loop,
          ``zip`` and ``list`` get what the release yields; also a loop over layers with a window, and one whose
          program handles the ValueError. After its error, ``generate()`` makes a cache of the tuple, as in 4.57.6. A
          tuple given to ``forward`` is not converted: each model did that itself, and most refused it since 4.48.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Iterator
from functools import lru_cache, wraps
from typing import Any, Callable, NamedTuple, Optional

from hotfix import asking
from hotfix.asking._bytecode import CALLS, Code
from hotfix.fix import Fix
from hotfix.patching import compiling

_REFUSED = "ValueError: Passing a tuple of `past_key_values` is not supported anymore. Please use a `Cache` instance."
_REFUSED_AS_CACHE = "ValueError: Passing a tuple for `cache` is not supported anymore. Please use a `Cache` instance."
_NAMES = ("past_key_values", "cache_params", "cache")  # the last one from 5.24.0 on

FIX = Fix(
    title="ValueError: too many values to unpack (expected 2), from a loop over past_key_values",
    kind="removed-api",
    group="removed-names",
    errors=(_REFUSED, _REFUSED_AS_CACHE),
    prefilter="_sliding_window_tensor",
    everyone="only a loop that would raise a ValueError, by its bytecode; generate() only after its error",
)

MODULE = "transformers.cache_utils"
_DECIDES = f"{MODULE}:DynamicCache.__iter__"
_SILENT = ("CACHE", "EXTENDED_ARG", "NOP")
_ROWS = {3: (0, 1), 6: (0, 1, 3, 4)}  # the values of a layer in 4.57.6, by the number that the release yields


@FIX.wraps(
    (f"{MODULE}:DynamicCache.__iter__", ">=5.0.0"),
    (f"{MODULE}:EncoderDecoderCache.__iter__", ">=5.0.0"),
    fingerprint_of=(_DECIDES,),
)
def as_unpacked(original: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """The layers, each with as many values as the loop unpacks."""

    @wraps(original)
    def __iter__(self: Any) -> Iterator[Any]:  # noqa: N807 - its name
        if compiling.is_compiling():
            return original(self)
        depth = _starts(sys._getframe(1))
        return original(self) if depth is None else _rows(original(self), depth)

    return __iter__


@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin._prepare_cache_for_generation", ">=5.0.0"),
    fingerprint_of=(_DECIDES,),
    on_error=(_REFUSED, _REFUSED_AS_CACHE),
)
def of_a_tuple(original: Callable[..., Any]) -> Callable[..., Any]:
    """Prepare a cache that was made of the tuple."""

    def prepare(self: Any, generation_config: Any, model_kwargs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        name = next(name for name in _NAMES if isinstance(model_kwargs.get(name), tuple))
        if self._supports_default_dynamic_cache():
            is_both = self.config.is_encoder_decoder or model_kwargs.get("encoder_outputs") is not None
            model_kwargs[name] = _cache(model_kwargs[name], is_both)
        return original(self, generation_config, model_kwargs, *args, **kwargs)

    return prepare


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """It yields the window of a layer."""
    return function.name == "__iter__" and "_sliding_window_tensor" in ast.unparse(function)


# ---------------------------------------------------------------------------------------------------------------------


def _cache(layers: tuple[Any, ...], is_both: bool) -> Any:
    from transformers.cache_utils import DynamicCache, EncoderDecoderCache

    own, crossed = DynamicCache(), DynamicCache()
    for number, layer in enumerate(layers):
        own.update(layer[0], layer[1], number)
        if is_both and len(layer) > 2:
            crossed.update(layer[2], layer[3], number)
    if not is_both:
        return own
    return EncoderDecoderCache(own, crossed)


def _rows(rows: Iterator[Any], depth: int) -> Iterator[Any]:
    for row in rows:
        chosen = _ROWS.get(len(row), ())
        has_window = any(row[number] is not None for number in range(2, len(row), 3))
        frame = sys._getframe(1)
        if chosen and not has_window and _takes(frame, depth) == len(chosen) and not _is_handled(frame):
            yield tuple(row[number] for number in chosen)
        else:
            yield row
        del frame


def _is_handled(frame: types.FrameType) -> bool:
    return asking.is_handled(ValueError, frame)


def _starts(frame: types.FrameType) -> Optional[int]:
    """How deep a loop that starts in a frame unpacks what a cache yields: 0, and 1 with `enumerate`; None elsewhere."""
    if str(frame.f_globals.get("__name__")).partition(".")[0] == "transformers":
        return None
    start = _start(frame.f_code, frame.f_lasti)
    if not start.counts:
        return 0 if start.is_loop else None
    spaces = [frame.f_globals] if start.is_global else [frame.f_locals, frame.f_globals]
    return None if any("enumerate" in space for space in spaces) else 1


class _Start(NamedTuple):
    is_loop: bool = False
    counts: bool = False
    is_global: bool = False


@lru_cache(maxsize=256)
def _start(object_: types.CodeType, offset: int) -> _Start:
    code = Code(object_)
    at = code.place(offset)
    if code.name(at) == "GET_ITER":
        return _Start(is_loop=True)
    if code.name(at) not in CALLS or code.name(_behind(code, at)) != "GET_ITER":
        return _Start()
    callee, _ = code.call(at)
    if code.name(callee) not in ("LOAD_GLOBAL", "LOAD_NAME") or code.named(callee) != "enumerate":
        return _Start()
    return _Start(counts=True, is_global=code.name(callee) == "LOAD_GLOBAL")


def _takes(frame: types.FrameType, depth: int) -> int:
    """The number of values that the loop at which a frame is unpacks; 0 if it keeps them together."""
    return _unpacked(frame.f_code, frame.f_lasti, depth)


@lru_cache(maxsize=256)
def _unpacked(object_: types.CodeType, offset: int, depth: int) -> int:
    code = Code(object_)
    at = code.place(offset)
    if code.name(at) != "FOR_ITER":
        return 0
    at = _behind(code, at)
    if depth:
        if code.name(at) != "UNPACK_SEQUENCE" or code.argument(at) != 2:
            return 0
        at = _behind(code, at)
        if not code.name(at).startswith("STORE_") or code.name(at) in ("STORE_ATTR", "STORE_SUBSCR"):
            return 0
        at = _behind(code, at)
    return code.argument(at) if code.name(at) == "UNPACK_SEQUENCE" else 0


def _behind(code: Code, at: int) -> int:
    at += 2
    while code.name(at) in _SILENT:
        at += 2
    return at
