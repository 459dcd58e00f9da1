"""Image tokens and features of LLaVA-NeXT and LLaVA-OneVision differ in number for pictures of some sizes.

Symptom   ``ValueError: Image features and image tokens do not match: tokens: 5589, features 5805``, for pictures whose
          sides have a simple ratio, such as 147 by 196.
Cause     Processor and model both compute the size of a picture without its padding. If the exact size is a whole
          number, a float may be just below it: one of the two rounds before it truncates, and the other does not.
Releases  LLaVA-NeXT and LLaVA-NeXT-Video 4.45.0 to 4.46.3 (in the model); LLaVA-OneVision 4.47.0 to 4.48.3 (in the
          processor)
Upstream  transformers#34625, transformers#36002 (fixed in 4.47.0 and 4.49.0)
Here      Both round, as in those releases. If the model inserts the image tokens itself (inputs of an older
          processor), nothing has to match, and the model truncates as before. So does ``unpad_image`` for a program
          that calls it, and for a model that is compiled.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.patching.compiling import is_compiling

FIX = Fix(
    title="ValueError: Image features and image tokens do not match, in LLaVA-NeXT and LLaVA-OneVision",
    kind="crash",
    upstream=("transformers#34625", "transformers#36002"),
    fixed_in="4.47.0, 4.49.0",
    errors=("ValueError: Image features and image tokens do not match: …",),
    everyone="the processor counts for the library's model, which rounds",
)

_MODEL = "transformers.models.{0}.modeling_{0}:unpad_image"
_PROCESSOR = "transformers.models.{0}.processing_{0}:{1}Processor._get_unpadded_features"
_ONEVISION = _PROCESSOR.format("llava_onevision", "LlavaOnevision")

_EXPANDED = f"import {__name__} as ours\nours.is_expanded()"

for _model, _name in (("llava_next", "LlavaNext"), ("llava_next_video", "LlavaNextVideo")):
    FIX.edits(
        (_MODEL.format(_model), ">=4.45.0,<=4.46.3"),
        old=("int(original_height * scale_factor)", "int(original_width * scale_factor)"),
        new=("int(round(original_height * scale_factor, 7))", "int(round(original_width * scale_factor, 7))"),
        beside="height * current_width // width",  # the processor counts whole numbers
        fingerprint_of=(_MODEL.format(_model), _PROCESSOR.format(_model, _name)),
        when=_EXPANDED,
    )

FIX.edits(
    (_ONEVISION, ">=4.47.0,<=4.48.3"),
    old=("int(height * (current_width / width))", "int(width * (current_height / height))"),
    new=("int(round(height * (current_width / width), 7))", "int(round(width * (current_height / height), 7))"),
    beside="int(round(original_height * scale_factor, 7))",  # the model rounds
    fingerprint_of=(_ONEVISION, _MODEL.format("llava_onevision")),
    when=f"import {__name__} as ours\nours.is_for_the_library()",
)


def is_for_the_library() -> bool:
    """Whether LLaVA-OneVision's model, as far as it is loaded, rounds: nothing has replaced its functions."""
    module = sys.modules.get("transformers.models.llava_onevision.modeling_llava_onevision")
    if module is None:
        return True
    packs = getattr(module, "LlavaOnevisionForConditionalGeneration", None)
    functions = getattr(module, "unpad_image", None), getattr(packs, "pack_image_features", None)
    return all(
        getattr(function, "__module__", None) == module.__name__ and scope.was_written_in("transformers", function)
        for function in functions
    )


def is_expanded() -> bool:
    """Whether the library's model calls, in a forward whose image tokens were counted by a processor that rounds."""
    if is_compiling():
        return False  # the forward's variables cannot be seen
    frame = sys._getframe(1)
    padded, size = frame.f_locals["tensor"].shape[1:], frame.f_locals["original_size"]
    if _without_padding(padded, size) == _without_padding(padded, size, digits=7):
        return False
    packing: dict[str, Any] = {}
    for _ in range(8):
        if frame.f_back is None:
            return False
        frame = frame.f_back
        if frame.f_code.co_name == "pack_image_features":
            is_of_the_model = str(frame.f_globals.get("__name__")).startswith("transformers.models.llava_next")
            packing = {**frame.f_globals, **frame.f_locals} if is_of_the_model else {}
        elif packing and {"legacy_processing", "input_ids"} <= frame.f_locals.keys():
            return not frame.f_locals["legacy_processing"] and not _fits(packing, frame.f_locals["input_ids"])
    return False


def _without_padding(padded: Sequence[int], size: Any, digits: Optional[int] = None) -> tuple[int, int]:
    """Height and width of a picture without its padding, in patches, as the release computes them.

    Args:
        padded: height and width in patches, with the padding.
        size: height and width of the picture in pixels.
        digits: digits after the point that a product is rounded to before it is truncated; None truncates it as it is.
    """
    height, width = padded
    original_height, original_width = size.tolist() if hasattr(size, "tolist") else size
    if original_width / original_height > width / height:
        product = original_height * (width / original_width)
        height -= (height - int(product if digits is None else round(product, digits))) // 2 * 2
    else:
        product = original_width * (height / original_height)
        width -= (width - int(product if digits is None else round(product, digits))) // 2 * 2
    return height, width


def _fits(packing: Mapping[str, Any], tokens: Any) -> bool:
    """Whether a text has as many image tokens as the release gives features: the program has counted as it does.

    Args:
        packing: the variables of ``pack_image_features``.
        tokens: input ids, or None.
    """
    if tokens is None:
        return False
    config, newline = packing["self"].config, packing.get("image_newline") is not None
    size, features = config.vision_config.image_size, 0
    side = size // config.vision_config.patch_size
    for feature, original in zip(packing["image_features"], packing["image_sizes"]):
        if feature.shape[0] > 1:
            grid = packing["get_anyres_image_grid_shape"](original, config.image_grid_pinpoints, size)
            height, width = _without_padding([count * side for count in grid], original)
            features += feature.shape[1] + height * (width + newline)
        else:
            features += feature.shape[1] + newline
    return bool((tokens == config.image_token_index).sum() == features)
