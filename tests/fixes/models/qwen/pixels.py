"""The pixels that Qwen's image processors return for a picture and a video, for every way to set a size."""

from __future__ import annotations

import logging
from copy import deepcopy
from importlib import import_module
from typing import Any

from hotfix.proofs.processing._pictures import SMALL, pixels
from hotfix.proofs.zoo import picture, qwen_processor
from tests.fixes.models.qwen.twice import before_and_after

DEFAULT = {"shortest_edge": 56 * 56, "longest_edge": 1280 * 28 * 28}
LIMIT = SMALL["longest_edge"]
QWEN2_VL = "transformers.models.qwen2_vl.image_processing"
CLASSES = {
    "slow": (f"{QWEN2_VL}_qwen2_vl", "Qwen2VLImageProcessor"),
    "fast": (f"{QWEN2_VL}_qwen2_vl_fast", "Qwen2VLImageProcessorFast"),
    "pil": (f"{QWEN2_VL}_pil_qwen2_vl", "Qwen2VLImageProcessorPil"),
}


def sizes(testbed, target):
    """The kinds of processors in `target`, one after the other.

    Returns:
        ``KIND: WAY``: the patches of the picture, and ``KIND: WAY, video`` those of a video, where the processor takes
        videos. Ways are the size of the class, and smaller ones that are given in several ways.
    """
    results = {}
    for kind in target.qualname.split(", "):
        module, name = CLASSES[kind]
        results.update({f"{kind}: {way}": value for way, value in ways(getattr(import_module(module), name)).items()})
    return results


def ways(cls):
    stock = dict(vars(cls).get("size", {}))

    def restored():
        if stock:
            cls.size = dict(stock)
        return cls

    mine = dict(SMALL)
    pixels_ = patches("default", cls())
    pixels_.update(patches("size in a call", restored()(), size=dict(SMALL)))
    pixels_.update(patches("size", restored()(size=mine)))
    pixels_.update(patches("limit at loading", restored().from_dict({"size": dict(DEFAULT)}, max_pixels=LIMIT)))
    pixels_.update(patches("limit", restored()(max_pixels=LIMIT)))
    pixels_.update(patches("default after a limit", cls()))
    processor = restored()()
    pixels_.update(patches("limit in a call", processor, max_pixels=LIMIT))
    pixels_.update(patches("default after a limit in a call", processor))
    restored()
    assert mine == SMALL
    return pixels_


def patches(name, processor, **arguments):
    results = {name: pixels(processor, **arguments)["pixel_values"]}
    if "videos" in processor.preprocess.__code__.co_varnames:
        frames = [picture().rotate(20 * step) for step in range(4)]
        output = processor.preprocess(images=None, videos=frames, return_tensors="pt", **arguments)
        results[f"{name}, video"] = output["pixel_values_videos"]
    return results


@before_and_after("qwen2vl-image-processor-size-discarded", "qwen2vl-image-size-mutation", "qwen2vl-max-pixels-ignored")
def all_fixes(testbed, target):
    return sizes(testbed, target)


def calls(testbed, target):
    """The pixels of a picture and a video, in calls that give limits of pixels in several ways.

    Args:
        target: its `qualname` has the kinds of image processors, with commas between them.

    Returns:
        ``CLASS KIND: CALL, WHAT``: tokens, patches of pictures and of videos, whether there was a warning that an
        argument is ignored, and whether the image processor is as it was; of a call that raises a TypeError
        ``CLASS KIND: CALL, raised``.
    """
    import transformers

    results = {}
    classes = [getattr(transformers, name, None) for name in ("Qwen2VLProcessor", "Qwen2_5_VLProcessor")]
    for cls in filter(None, classes):
        for kind in target.qualname.split(", "):
            module, name = CLASSES[kind]
            outcomes = in_calls(cls, getattr(import_module(module), name))
            results.update({f"{cls.__name__} {kind}: {call}": value for call, value in outcomes.items()})
    return results


def in_calls(cls: Any, image_processor: Any) -> dict[str, Any]:
    import torch

    class OfSomebody(image_processor):
        def preprocess(self, images, videos=None, return_tensors=None):
            return super().preprocess(images, videos=videos, return_tensors=return_tensors)

    given: dict[str, dict[str, Any]] = {
        "default": {},
        "largest": {"max_pixels": LIMIT},
        "smallest": {"min_pixels": 500 * 28 * 28, "max_pixels": 900 * 28 * 28},
        "none": {"max_pixels": None},
        "nested": {"images_kwargs": {"max_pixels": LIMIT}},
        "beside other nested ones": {"max_pixels": LIMIT, "images_kwargs": {"do_rescale": True}},
        "beside nested ones of texts": {"max_pixels": LIMIT, "text_kwargs": {"padding": False}},
    }
    results = {}
    size = dict(vars(image_processor).get("size", {}))
    for name, arguments in given.items():
        own = image_processor()
        processor, before = qwen_processor(cls, own), deepcopy(vars(own))
        results.update(outcome(name, with_video, processor, **arguments))
        results[f"{name}, processor as it was"] = torch.tensor(vars(own) == before)
        if size:
            image_processor.size = dict(size)  # nested limits stay there in 4.50.1
    foreign = qwen_processor(cls, OfSomebody())
    results.update(outcome("to somebody's", with_video, foreign, max_pixels=LIMIT))
    results.update(outcome("alone", pixels, image_processor(), max_pixels=LIMIT))
    if size:
        image_processor.size = dict(size)
    return results


def with_video(processor, **arguments):
    frames = [picture().rotate(20 * step) for step in range(4)]
    text = ["<|image_pad|> stripes <|video_pad|>"]
    return processor(text=text, images=[picture()], videos=[frames], return_tensors="pt", **arguments)


def outcome(name, call, processor, **arguments):
    import torch
    from transformers.utils import logging as library

    library.warning_once.cache_clear()
    records: list[logging.LogRecord] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    handler = Keeping()
    library.get_logger("transformers").addHandler(handler)
    try:
        results = {key: torch.as_tensor(value) for key, value in call(processor, **arguments).items()}
    except TypeError:
        return {f"{name}, raised": torch.tensor(True)}
    finally:
        library.get_logger("transformers").removeHandler(handler)
    results["warned"] = torch.tensor(any("will be ignored" in record.getMessage() for record in records))
    return {f"{name}, {key}": value for key, value in results.items()}


@before_and_after(
    "qwen2vl-image-processor-size-discarded",
    "qwen2vl-image-size-mutation",
    "qwen2vl-max-pixels-ignored",
    "qwen2vl-processor-pixels-ignored",
)
def calls_with_all_fixes(testbed, target):
    return calls(testbed, target)


@before_and_after("qwen2vl-processor-pixels-ignored")
def calls_with_one_fix(testbed, target):
    return calls(testbed, target)
