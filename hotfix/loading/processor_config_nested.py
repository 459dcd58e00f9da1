"""OSError: … does not appear to have a file named preprocessor_config.json, from a processor of 5.x.

Symptom   `AutoProcessor`, `AutoImageProcessor` and `AutoFeatureExtractor` raise this for a folder that 5.x has written.
Cause     5.x writes what image processor and feature extractor need into processor_config.json, below their names, and
          no preprocessor_config.json.
Releases  4.36.0 to 4.55.4
Upstream  4.56.0 reads both files
Here      Where preprocessor_config.json is missing and processor_config.json has such a part, that is read; the
          processor itself gets the rest. Video processors are left out; a class that is lacking stays upstream's error.
          A part is what names its class, as 5.x writes it. Classes of your own read what the release gives them, also
          where an argument of theirs is called like a part, and a program that handles the error does so as before.
"""

from __future__ import annotations

import ast
import json
import logging
import os
from pathlib import Path
from typing import Any, Callable, Optional

from hotfix import session
from hotfix.fix import Fix
from hotfix.loading._reading import is_of_the_library
from hotfix.patching import scope

FIX = Fix(
    title="OSError: … does not appear to have a file named preprocessor_config.json, from a processor of 5.x",
    kind="loading",
    errors=("OSError: …preprocessor_config.json…",),
    fixed_in="4.56.0",
    exempt={
        "transformers.models.timm_wrapper.image_processing_timm_wrapper:TimmWrapperImageProcessor"
        ".get_image_processor_dict": "what it needs stands in config.json",
    },
)

FILE = "processor_config.json"
PARTS = ("image_processor", "feature_extractor", "video_processor", "audio_processor", "tokenizer")

# What the methods take for themselves of the arguments that they are given; the rest they hand back.
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
    """Whether a method does not know of processor_config.json; processors go by what feature extractors know."""
    *_, last = (node, *more)
    return "PROCESSOR_NAME" not in {one.id for one in ast.walk(last) if isinstance(one, ast.Name)}


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
        if not is_of_the_library(cls):
            return settings, left
        return {key: value for key, value in settings.items() if not (key in PARTS and _is_part(value))}, left

    return get_processor_dict


def _or_part(part: str, original: Callable[..., Any], cls: Any, name: Any, kwargs: dict[str, Any]) -> Any:
    """What stands in preprocessor_config.json; where there is none, that part of processor_config.json."""
    try:
        return original(cls, name, **dict(kwargs))
    except OSError as error:
        if not is_of_the_library(cls) or not scope.is_declared(error, FIX.id, FIX.errors):
            raise
        path = _path(name, kwargs)
        found = json.loads(Path(path).read_text(encoding="utf-8")).get(part) if path else None
        if not _is_part(found):
            raise
        sentence = f"{FIX.id}: {part} is read from {path}, where a later release wrote it."
        session.current().log.log(logging.INFO, sentence)
        return found, {key: one for key, one in kwargs.items() if key not in _TAKEN}


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
        found: Optional[str] = cached_file(str(name), FILE, **known)
    except (OSError, ValueError):  # no such file, or no name that the hub could have
        return None
    return found
