"""What Qwen's image processors make of a picture and of a video, in every way in which they are told a size."""

from __future__ import annotations

from importlib import import_module

from hotfix.processing import _pictures
from tests.models.qwen.twice import before_and_after

DEFAULT = {"shortest_edge": 56 * 56, "longest_edge": 1280 * 28 * 28}
LIMIT = _pictures.SMALL["longest_edge"]
QWEN2_VL = "transformers.models.qwen2_vl.image_processing"
CLASSES = {
    "slow": (f"{QWEN2_VL}_qwen2_vl", "Qwen2VLImageProcessor"),
    "fast": (f"{QWEN2_VL}_qwen2_vl_fast", "Qwen2VLImageProcessorFast"),
    "pil": (f"{QWEN2_VL}_pil_qwen2_vl", "Qwen2VLImageProcessorPil"),
}


def sizes(bed, target):
    """The kinds of processors that stand in `target`, one after the other.

    Returns:
        ``KIND: WAY``: the patches of the picture, and ``KIND: WAY, video`` those of a video, where the processor takes
        videos. Ways are the size of the class, and smaller ones that are given in several ways.
    """
    told = {}
    for kind in target.qualname.split(", "):
        module, name = CLASSES[kind]
        told.update({f"{kind}: {way}": value for way, value in ways(getattr(import_module(module), name)).items()})
    return told


def ways(cls):
    stock = dict(vars(cls).get("size", {}))

    def restored():
        if stock:
            cls.size = dict(stock)
        return cls

    mine = dict(_pictures.SMALL)
    told = patches("default", cls())
    told.update(patches("size in a call", restored()(), size=dict(_pictures.SMALL)))
    told.update(patches("size", restored()(size=mine)))
    told.update(patches("limit at loading", restored().from_dict({"size": dict(DEFAULT)}, max_pixels=LIMIT)))
    told.update(patches("limit", restored()(max_pixels=LIMIT)))
    told.update(patches("default after a limit", cls()))
    processor = restored()()
    told.update(patches("limit in a call", processor, max_pixels=LIMIT))
    told.update(patches("default after a limit in a call", processor))
    restored()
    assert mine == _pictures.SMALL
    return told


def patches(name, processor, **arguments):
    told = {name: _pictures.pixels(processor, **arguments)["pixel_values"]}
    if "videos" in processor.preprocess.__code__.co_varnames:
        frames = [_pictures.picture().rotate(20 * step) for step in range(4)]
        output = processor.preprocess(images=None, videos=frames, return_tensors="pt", **arguments)
        told[f"{name}, video"] = output["pixel_values_videos"]
    return told


@before_and_after("qwen2vl-image-processor-size-discarded", "qwen2vl-image-size-mutation", "qwen2vl-max-pixels-ignored")
def all_fixes(bed, target):
    return sizes(bed, target)
