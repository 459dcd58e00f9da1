"""An image processor whose file names a feature extractor cannot be loaded.

Symptom   ``AutoImageProcessor``, ``AutoProcessor`` and ``pipeline`` do not recognize the image processor of a
          checkpoint, and ask for ``image_processor_type``, although its ``preprocessor_config.json`` has that:
          ``"image_processor_type": "ViTFeatureExtractor"``.
Cause     4.26 and later write that where the program used the class of the old name. 5.0.0 removed these classes, and
          translates the name only under the older key, ``feature_extractor_type``.
Releases  5.0.0 and later
Upstream  not repaired
Here      The name is translated under this key, too, where nothing else answers for it and the program does not handle
          the error. The image processor is the one of the release, as for a file with the older key.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Image processor of a checkpoint whose image_processor_type is ViTFeatureExtractor is not recognized",
    kind="loading",
    errors=("ValueError: Unrecognized image processor in …. Should have a `image_processor_type` key in its …",),
    everyone="only a file with the name of a class that is gone, which would crash the program: the new code tests it",
)

_BETWEEN = ("transformers.", "hotfix.patching.")
_AUTO = "transformers.models.auto.image_processing_auto"

FIX.edits(
    (f"{_AUTO}:AutoImageProcessor.from_pretrained", ">=5.0.0"),
    old='image_processor_type = config_dict.get("image_processor_type", None)',
    new=f"""
        from {__name__} import translated
        image_processor_type = translated(config_dict, config)
        """,
    unless='kwargs.pop("use_auth_token", None)',  # the releases that have the classes of these names
)


def translated(settings: dict[str, Any], config: Any) -> Any:
    """The type of an image processor, with the present name of its class.

    Args:
        settings: the content of its file.
        config: the configuration of the model that the caller passed, or None.
    """
    name = settings.get("image_processor_type")
    if not isinstance(name, str) or not name.endswith("FeatureExtractor"):
        return name
    auto: Any = sys.modules[_AUTO]
    is_known = auto.get_image_processor_class_from_name(name) is not None
    if is_known or type(config) in auto.IMAGE_PROCESSOR_MAPPING or "AutoImageProcessor" in settings.get("auto_map", {}):
        return name
    caller = sys._getframe(1)
    while caller.f_back is not None and str(caller.f_globals.get("__name__")).startswith(_BETWEEN):
        if caller.f_globals["__name__"] == "transformers.models.auto.processing_auto" and _is_of_videos(name):
            return name  # it tries that processor next
        caller = caller.f_back  # `AutoProcessor` and `pipeline` handle the error, and end with another one
    if scope.is_handled(FIX.id, ValueError, caller):
        return name
    return name.replace("FeatureExtractor", "ImageProcessor")


def _is_of_videos(name: str) -> bool:
    """Whether the release has a video processor in place of this feature extractor."""
    auto: Any = sys.modules.get("transformers.models.auto.video_processing_auto")
    present = auto.VIDEO_PROCESSOR_MAPPING_NAMES.values() if auto else ()
    return any(name.replace("FeatureExtractor", "VideoProcessor") in str(each) for each in present)
