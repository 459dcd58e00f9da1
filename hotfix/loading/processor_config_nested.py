"""OSError: … does not appear to have a file named preprocessor_config.json, from a processor of 5.x.

Symptom   `AutoProcessor`, `AutoImageProcessor` and `AutoFeatureExtractor` raise this for a folder that 5.x has written.
Cause     5.x writes the settings of image processor and feature extractor into processor_config.json, under their
          names, and no preprocessor_config.json.
Releases  4.36.0 to 4.55.4
Upstream  4.56.0 reads both files
Here      If preprocessor_config.json is missing and processor_config.json has such a part, the part is read; the
          processor itself gets the rest. Video processors are left out. A missing class still raises upstream's error.
          A part names its class, as 5.x writes it. Classes of your own read the same file as in the release, even if
          an argument of theirs has the name of a part. A program that handles the error gets it, and one that calls
          `get_processor_dict` itself gets the whole content of the file.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any, Callable, Optional

from hotfix import session
from hotfix.fix import Fix
from hotfix.loading._reading import is_asked_by_the_library, is_of_the_library
from hotfix.patching import scope

FIX = Fix(
    title="OSError: … does not appear to have a file named preprocessor_config.json, from a processor of 5.x",
    kind="loading",
    errors=("OSError: …preprocessor_config.json…",),
    fixed_in="4.56.0",
    exempt={
        "transformers.models.timm_wrapper.image_processing_timm_wrapper:TimmWrapperImageProcessor"
        ".get_image_processor_dict": "its settings are in config.json",
    },
)

FILE = "processor_config.json"
PARTS = ("image_processor", "feature_extractor", "video_processor", "audio_processor", "tokenizer")

# The arguments that the methods use themselves; they return the rest.
_LOOKS = ("cache_dir", "force_download", "proxies", "token", "local_files_only", "revision", "subfolder")
_TAKEN = (
    *_LOOKS,
    "resume_download",
    "use_auth_token",
    "image_processor_filename",
    "user_agent",
    "_from_pipeline",
    "_from_auto",
)

EXTRACTOR = "transformers.feature_extraction_utils:FeatureExtractionMixin.get_feature_extractor_dict"
_MIXIN = "ImageProcessingMixin.get_image_processor_dict"


@FIX.recognises
def looks_in_one_file(node: ast.AST, *more: ast.AST) -> bool:
    """Whether a method does not read processor_config.json; processors follow feature extractors."""
    *_, last = (node, *more)
    return "PROCESSOR_NAME" not in {name.id for name in ast.walk(last) if isinstance(name, ast.Name)}


@FIX.wraps(
    (f"transformers.image_processing_utils:{_MIXIN}", ">=4.36.0,<=4.41.2"),
    (f"transformers.image_processing_base:{_MIXIN}", ">=4.42.0,<=4.55.4"),
    converts=True,
)
def image_processor_of_its_part(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the method that reads preprocessor_config.json for an image processor."""

    def get_image_processor_dict(cls: Any, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        return _or_part("image_processor", original, cls, pretrained_model_name_or_path, kwargs)

    return get_image_processor_dict


@FIX.wraps(
    (EXTRACTOR, ">=4.36.0,<=4.55.4"),
    converts=True,
)
def feature_extractor_of_its_part(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the method that reads preprocessor_config.json for a feature extractor."""

    def get_feature_extractor_dict(cls: Any, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        return _or_part("feature_extractor", original, cls, pretrained_model_name_or_path, kwargs)

    return get_feature_extractor_dict


@FIX.wraps(
    ("transformers.processing_utils:ProcessorMixin.get_processor_dict", ">=4.37.0,<=4.55.4"),
    fingerprint_of=("ProcessorMixin.get_processor_dict", EXTRACTOR),
    converts=True,
)
def processor_without_its_parts(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the method that reads processor_config.json: parts are read by their own classes."""

    def get_processor_dict(cls: Any, pretrained_model_name_or_path: Any, **kwargs: Any) -> Any:
        settings, left = original(cls, pretrained_model_name_or_path, **kwargs)
        if not is_of_the_library(cls) or not is_asked_by_the_library(sys._getframe(1)):
            return settings, left
        return {key: value for key, value in settings.items() if not (key in PARTS and _is_part(value))}, left

    return get_processor_dict


def _or_part(part: str, original: Callable[..., Any], cls: Any, name: Any, kwargs: dict[str, Any]) -> Any:
    """The content of preprocessor_config.json; if there is none, that part of processor_config.json."""
    try:
        return original(cls, name, **dict(kwargs))
    except OSError as error:
        if not is_of_the_library(cls) or not scope.is_declared(error, FIX.id, FIX.errors):
            raise
        path = _path(name, kwargs)
        settings = json.loads(Path(path).read_text(encoding="utf-8")).get(part) if path else None
        if not _is_part(settings):
            raise
        sentence = f"{FIX.id}: {part} is read from {path}, where a later release wrote it."
        session.current().log.log(logging.INFO, sentence)
        return settings, {key: value for key, value in kwargs.items() if key not in _TAKEN}


def _is_part(value: Any) -> bool:
    """Whether 5.x wrote a part of a processor: it names the class of the part."""
    return isinstance(value, dict) and any(f"{part}_type" in value for part in PARTS)


def _path(name: Any, kwargs: dict[str, Any]) -> Optional[str]:
    """Where processor_config.json is, or None."""
    if os.path.isdir(name):
        path = os.path.join(name, kwargs.get("subfolder") or "", FILE)
        return path if os.path.isfile(path) else None
    if os.path.isfile(name):
        return None
    from transformers.utils import cached_file

    known = {key: kwargs[key] for key in _LOOKS if kwargs.get(key) is not None}
    try:
        cached: Optional[str] = cached_file(str(name), FILE, **known)
    except (OSError, ValueError):  # no such file, or a name that the Hub cannot have
        return None
    return cached
