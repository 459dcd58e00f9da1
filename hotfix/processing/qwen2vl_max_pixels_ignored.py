"""A pixel limit for one call of a Qwen image processor, or at loading, is ignored.

Symptom   Silent. ``processor(..., max_pixels=...)``, and before 5.0.0 ``from_pretrained(..., max_pixels=...)`` too,
          have no effect: pictures have as many tokens as without it, up to 16384 with the configuration of Qwen3-VL.
Cause     Fast processors use ``min_pixels`` and ``max_pixels`` only if both are given. In 4.50 all processors use
          ``size`` only, which was computed before `from_pretrained` set the attributes from its arguments.
Releases  Qwen2-VL, whose image processor Qwen2.5-VL, Qwen2.5-Omni and Qwen3-VL use: slow 4.50.0 to 4.50.3, fast 4.50.0
          to 5.17.0. The same in video processors and in other models: the table below.
Upstream  transformers#41955, transformers#48916; fixed in 4.51.0 (attributes) and in 5.18.0 (calls)
Here      A missing limit is taken from ``size``, and 4.50 uses the attributes. Bitwise equal to 4.51.0 and to 5.18.0.
          A ``size`` that is assigned to the processor after its limits takes precedence, as in these releases; 4.51.0
          and later ignore it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from typing import Any, Callable, Optional
from weakref import ref

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.processing._places import FAST, PIL, SLOW, VIDEO, place

FOUR, FIVE = ">=5.0.0,<=5.3.0", ">=5.4.0,<=5.17.0"
TABLE = (
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor.preprocess", ">=4.50.0,<=4.50.3"),
    place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast._further_process_kwargs", ">=4.54.0,<=5.3.0"),
    place("qwen2_vl", SLOW, "Qwen2VLImageProcessor._standardize_kwargs", FIVE),
    place("qwen2_vl", PIL, "Qwen2VLImageProcessorPil._standardize_kwargs", FIVE),
    place("qwen2_vl", VIDEO, "Qwen2VLVideoProcessor._further_process_kwargs", FOUR),
    place("qwen2_vl", VIDEO, "Qwen2VLVideoProcessor._standardize_kwargs", FIVE),
    place("glm_image", FAST, "GlmImageImageProcessorFast._further_process_kwargs", FOUR),
    place("glm_image", SLOW, "GlmImageImageProcessor._standardize_kwargs", FIVE),
    place("glm_image", PIL, "GlmImageImageProcessorPil._standardize_kwargs", FIVE),
    place("video_llama_3", FAST, "VideoLlama3ImageProcessorFast._further_process_kwargs", FOUR),
    place("video_llama_3", SLOW, "VideoLlama3ImageProcessor._standardize_kwargs", FIVE),
    place("video_llama_3", PIL, "VideoLlama3ImageProcessorPil._standardize_kwargs", FIVE),
    place("video_llama_3", VIDEO, "VideoLlama3VideoProcessor._further_process_kwargs", FOUR),
    place("video_llama_3", VIDEO, "VideoLlama3VideoProcessor._standardize_kwargs", FIVE),
    place("paddleocr_vl", SLOW, "PaddleOCRVLImageProcessor._standardize_kwargs", FIVE),
    place("paddleocr_vl", PIL, "PaddleOCRVLImageProcessorPil._standardize_kwargs", FIVE),
    place("hunyuan_vl", SLOW, "HunYuanVLImageProcessor._standardize_kwargs", ">=5.13.0,<=5.17.0"),
    place("hunyuan_vl", PIL, "HunYuanVLImageProcessorPil._standardize_kwargs", ">=5.13.0,<=5.17.0"),
    place("minimax_m3_vl", SLOW, "MiniMaxM3VLImageProcessor._standardize_kwargs", ">=5.15.0,<=5.17.0"),
    place("cohere_compass", SLOW, "CohereCompassImageProcessor._standardize_kwargs", ">=5.16.0,<=5.17.0"),
    place("cohere_compass", PIL, "CohereCompassImageProcessorPil._standardize_kwargs", ">=5.16.0,<=5.17.0"),
)

# The same lines are right in the slow processor, whose `__init__` always sets both limits.
OLD = place("qwen2_vl", FAST, "Qwen2VLImageProcessorFast.preprocess", ">=4.50.0,<=4.53.3")

FIX = Fix(
    title="max_pixels is ignored by Qwen2-VL, Qwen2.5-VL and Qwen3-VL image processors",
    kind="silent",
    upstream=("transformers#41955", "transformers#48916"),
    fixed_in="4.51.0, 5.18.0",
    prefilter="max_pixels is not None",
    everyone="only where one of two limits is missing, or an attribute is newer than the size: the new code tests it",
    order=-1,  # before qwen2vl-image-size-mutation changes the statement behind which the attributes are looked at
)

_BOTH = "min_pixels is not None and max_pixels is not None"
_OF_THE_PROCESSOR = ("size = self.size", "size = {**self.size}")
_COMPLETED = f"""\
if (min_pixels is None) != (max_pixels is None):
    import {__name__} as ours
    min_pixels, max_pixels = ours.completed(self, size, min_pixels, max_pixels)
"""
_LOOKED_AT = f"""\
import {__name__} as ours
later_limits = ours.later_limits(self)
if later_limits:
    size = {{**size, **later_limits}}
"""
_EDGES = {"min_pixels": "shortest_edge", "max_pixels": "longest_edge"}
_DEFAULT = {"shortest_edge": 56 * 56, "longest_edge": 28 * 28 * 1280}
_loaded: dict[int, tuple[Any, dict[str, Any], dict[str, Any]]] = {}  # by identity: a class of your own may have no hash
_constructed: dict[int, tuple[Any, dict[str, int]]] = {}


@FIX.accompanies("transformers.image_processing_base:ImageProcessingMixin.from_dict")
def remembered(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the size at loading: a later assignment to ``size`` overrides a limit, as in these releases."""

    def from_dict(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        processor = made[0] if isinstance(made, tuple) else made
        own = getattr(processor, "__dict__", {})  # reading other attributes may run user code
        size = own.get("size")
        if isinstance(size, dict) and "max_pixels" in own:
            key = id(processor)
            _loaded[key] = ref(processor, lambda _: _loaded.pop(key, None)), dict(size), size
        return made

    return from_dict


@FIX.accompanies("transformers.image_processing_base:ImageProcessingMixin.__init__")
def constructed(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember the limits that a constructor was given: a ``size`` with other numbers was assigned after them."""

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        key = id(self)
        frame: Any = sys._getframe(1)  # the library's constructors take the limits out of the arguments they pass on
        while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is self:
            given = {name: frame.f_locals[name] for name in _EDGES if isinstance(frame.f_locals.get(name), int)}
            if given:
                _constructed[key] = ref(self, lambda _: _constructed.pop(key, None)), given
            frame = frame.f_back

    return init


def later_limits(processor: Any) -> dict[str, int]:
    """The limits among a processor's attributes that were set after its size.

    Args:
        processor: an image or video processor.

    Returns:
        Numbers of pixels, by the edge that they limit, without limits that may be older than the size.
    """
    size = getattr(processor, "size", None)
    if not isinstance(size, Mapping):
        return {}
    reference, loaded, first = _loaded.get(id(processor), (None, None, None))
    if reference is not None and reference() is not processor:
        loaded = None
    # A size that the program has assigned may be newer than the limits, and have the numbers of the first again.
    if (loaded and size is not first) or (type(size) is dict and hasattr(processor, "_standardize_kwargs")):
        return {}
    made, given = _constructed.get(id(processor), (None, {}))
    if loaded or made is None or made() is not processor:
        given = {}
    default = getattr(type(processor), "size", None)
    made_with = default if isinstance(default, Mapping) else _DEFAULT
    limits = {}
    for name, edge in _EDGES.items():
        pixels = getattr(processor, name, None)
        if pixels is None or pixels == size.get(edge) or pixels == given.get(name):
            continue
        if size.get(edge) == (loaded or made_with).get(edge) and (loaded or pixels != made_with.get(edge)):
            limits[edge] = pixels
    return limits


def completed(processor: Any, size: Any, fewest: Optional[int], most: Optional[int]) -> tuple[Any, Any]:
    """Complete the limits of a call that has one of them.

    Args:
        processor: an image or video processor.
        size: size of this call, or None.
        fewest: lower limit in pixels, or None.
        most: upper limit in pixels, or None.

    Returns:
        Both limits, or the given ones if the other is unknown, or the processor's own limit is older than its size.
    """
    own = getattr(processor, "min_pixels", None), getattr(processor, "max_pixels", None)
    limits: Any = processor.size if size is None else size
    if (fewest, most) == own:
        later = later_limits(processor) if size is None or size == processor.size else {}
        if not later:
            return fewest, most
        limits = {**processor.size, **later}
    try:
        return limits["shortest_edge"] if fewest is None else fewest, limits["longest_edge"] if most is None else most
    except (KeyError, TypeError):
        return fewest, most


@FIX.edits(OLD, fingerprint_of=("Qwen2VLImageProcessorFast.preprocess", "Qwen2VLImageProcessorFast.__init__"))
@FIX.edits(*TABLE)
def limited(node: ast.AST) -> Any:
    """Complete the limits before the test for both; in 4.50, use the attributes."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == _BOTH:
        return [*code.statements(_COMPLETED, at=node), node]
    if isinstance(node, ast.Assign) and ast.unparse(node) in _OF_THE_PROCESSOR:
        return [node, *code.statements(_LOOKED_AT, at=node)]
    return None


@FIX.recognises
def is_broken(function: ast.FunctionDef, init: Optional[ast.FunctionDef] = None) -> bool:
    """Whether both limits are required, or only ``size`` is used and then overwritten."""
    matches = any(limited(node) is not None for node in ast.walk(function))
    if function.name == "preprocess":
        parts = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.Attribute))}
        if "self.max_pixels" in parts:
            return matches and init is not None and "max_pixels=max_pixels" in ast.unparse(init)
        return matches and "size['longest_edge'] = max_pixels" in parts
    return matches and function.name in ("_further_process_kwargs", "_standardize_kwargs")
