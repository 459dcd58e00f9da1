"""An image processor cannot be loaded whose file names a class that this release lacks.

Symptom   ``AutoImageProcessor``, ``AutoProcessor`` and ``pipeline`` do not recognize the image processor of a
          checkpoint, and ask for ``image_processor_type``, although its ``preprocessor_config.json`` has that:
          ``"Qwen2_5_VLImageProcessor"`` in many fine-tuned models, ``"ViTFeatureExtractor"`` on 5.x,
          ``"CLIPImageProcessorFast"`` before 4.48.0, ``"DINOv3ViTImageProcessor"`` from 5.x on 4.57.
Cause     Releases add, remove and rename these classes: Qwen2.5-VL had one of its own before its first release only,
          5.0.0 removed the feature extractors of pictures, and the class that computes with torchvision is called
          ``…Fast`` or not. A file keeps the name that its release had.
Releases  4.36.0 and later
Upstream  transformers#36193 (for Qwen2.5-VL, repaired in its own files only); not repaired for the others
Here      The class of the other name is loaded, where nothing else answers for the name and neither the program nor a
          pipeline that needs no image processor handles the error. It is the one that the release loads for a file
          with its own name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Image processor whose image_processor_type is a class of another release is not recognized",
    kind="loading",
    upstream=("transformers#36193",),
    errors=(
        "ValueError: Unrecognized image processor in …. Should have a `image_processor_type` key in its "
        "preprocessor_config.json of config.json, or one of the following `model_type` keys in its config.json: …",
    ),
    everyone="only a file with the name of a class that is gone, which would crash the program: the new code tests it",
)

_BETWEEN = ("transformers.", "hotfix.patching.")
_AUTO = "transformers.models.auto.image_processing_auto"
_RENAMED = {"Qwen2_5_VLImageProcessor": "Qwen2VLImageProcessor"}

_READ = 'config_dict.get("image_processor_type", None)'
_READ_WELL = f"""
    from {__name__} import translated
    %s = translated(config_dict, config, %s)
    """

FIX.edits(
    (f"{_AUTO}:AutoImageProcessor.from_pretrained", ">=4.36.0"),
    old=(f"image_processor_class = {_READ}", f"image_processor_type = {_READ}"),
    new=(_READ_WELL % ("image_processor_class", False), _READ_WELL % ("image_processor_type", True)),
    alternatives=True,
)


def translated(settings: dict[str, Any], config: Any, drops_fast: bool) -> Any:
    """The type of an image processor, by the name that its class has in this release.

    Args:
        settings: the content of its file.
        config: the configuration of the model that the caller passed, or None.
        drops_fast: whether the release itself takes the class without ``Fast``, if it lacks the one with it.
    """
    name = settings.get("image_processor_type")
    auto: Any = sys.modules[_AUTO]
    if not isinstance(name, str) or _is_listed(name, auto.IMAGE_PROCESSOR_MAPPING_NAMES):
        return name
    # Before 4.48.0 it had another name.
    find = getattr(auto, "get_image_processor_class_from_name", None) or auto.image_processor_class_from_name
    is_known = find(name) is not None or (drops_fast and find(name.removesuffix("Fast")) is not None)
    if is_known or type(config) in auto.IMAGE_PROCESSOR_MAPPING or "AutoImageProcessor" in settings.get("auto_map", {}):
        return name
    caller = sys._getframe(1)
    while caller.f_back is not None and str(caller.f_globals.get("__name__")).startswith(_BETWEEN):
        if _has_another_way(caller, name, settings):
            return name
        caller = caller.f_back  # `AutoProcessor` and `pipeline` handle the error, and end with another one
    if scope.is_handled(FIX.id, ValueError, caller):
        return name
    return next((other for other in _other_names(name) if find(other) is not None), name)


def _has_another_way(caller: Any, name: str, settings: dict[str, Any]) -> bool:
    """Whether a function of the library goes on without the image processor.

    Args:
        caller: its frame.
        name: the type of the image processor.
        settings: the content of its file.
    """
    if caller.f_globals["__name__"] == "transformers.models.auto.processing_auto":  # it tries other processors next
        return _is_of_videos(name) or "feature_extractor_type" in settings
    is_pipeline = caller.f_globals["__name__"] == "transformers.pipelines"  # which does without if this is None
    return is_pipeline and caller.f_locals.get("load_image_processor", True) is None


def _is_listed(name: str, known: dict[str, Any]) -> bool:
    """Whether a release lists a class: one for each model, a pair, or one for each backend. Nothing is imported."""
    entries = (tuple(entry.values()) if isinstance(entry, dict) else entry for entry in known.values())
    return any(name == entry or (isinstance(entry, tuple) and name in entry) for entry in entries)


def _other_names(name: str) -> Iterator[str]:
    """The names that other releases have for the class of an image processor, the most likely first."""
    plain = name.removesuffix("Fast").replace("FeatureExtractor", "ImageProcessor")
    plain = _RENAMED.get(plain, plain)
    yield plain
    yield f"{plain}Fast"


def _is_of_videos(name: str) -> bool:
    """Whether the release has a video processor in place of this feature extractor."""
    auto: Any = sys.modules.get("transformers.models.auto.video_processing_auto")
    present = auto.VIDEO_PROCESSOR_MAPPING_NAMES.values() if auto else ()
    return any(name.replace("FeatureExtractor", "VideoProcessor") in str(each) for each in present)
