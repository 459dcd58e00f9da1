"""Processors that took the text first take the images first.

Symptom   ``processor(prompt, image)``, as the cards of LLaVA and PaliGemma have it, ends in an error about images: no
          valid address, no flat list of images, an Image that is not iterable. ``processor(prompt, images=image)``
          raises ``TypeError: LlavaProcessor.__call__() got multiple values for argument 'images'``.
Cause     The first two arguments have changed places, and the code that put them right was removed.
Releases  4.54.0 and later; CLIP, SigLIP and others 4.57.0 and later
Upstream  by design
Here      A text by position is the text, if the images are with it, or if it stands alone and is no image that the
          release could load: neither an address, a file, nor encoded.
"""

from __future__ import annotations

import ast
import os
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

_NO_OTHER = "no release took the text first, or it is rarely called by position"

FIX = Fix(
    title="processor(prompt, image) takes the prompt for an image",
    kind="removed-api",
    group="removed-names",
    errors=("TypeError: …Processor.__call__() got multiple values for argument 'images'",),
    everyone="only for a text in the place of images, which the release cannot read as one",
    exempt={
        "transformers.models.*:*.__call__": _NO_OTHER,
        "transformers.pipelines.image_text_to_text:*.__call__": "it has always taken the images first",
        "transformers.processing_utils:OmniModalProcessorMixin.__call__": "4.57.6 did not have it",
    },
)

_CLASSES = """
AlignProcessor AltCLIPProcessor ChineseCLIPProcessor CLIPProcessor GitProcessor LlavaProcessor LlavaNextProcessor
PaliGemmaProcessor SiglipProcessor VisionTextDualEncoderProcessor
"""
_MIXIN = "transformers.processing_utils:ProcessorMixin.__call__"


@FIX.wraps(
    (_MIXIN, ">=4.57.0"),
    ("transformers.models.llava.processing_llava:LlavaProcessor.__call__", ">=4.54.0,<=5.9.0"),
    ("transformers.models.llava_next.processing_llava_next:LlavaNextProcessor.__call__", ">=4.54.0,<5.15.0"),
    ("transformers.models.paligemma.processing_paligemma:PaliGemmaProcessor.__call__", ">=4.54.0"),
)
def by_kind(original: Callable[..., Any]) -> Callable[..., Any]:
    """Call a processor with the text and the images by name."""

    def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if args and _is_text(args[0]) and _took_text_first(self):
            args, kwargs = by_name(args, kwargs)
        return original(self, *args, **kwargs)

    return __call__


@FIX.recognises
def is_broken(call: ast.AST) -> bool:
    """Whether a processor takes the images first, and does not look for a text there."""
    if not isinstance(call, ast.FunctionDef) or call.name != "__call__":
        return False
    first = [argument.arg for argument in call.args.args][1:3]
    return first == ["images", "text"] and "_validate_images_text_input_order" not in ast.unparse(call)


def by_name(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with the text by name, and the images; the same if the release can read them.

    Args:
        args: by position, a text first.
        kwargs: by name.
    """
    given = {name for name in ("images", "text", "videos", "audio") if kwargs.get(name) is not None}
    if len(args) == 2 and not given and _are_pictures(args[1]):
        swapped = {"images": args[1], "text": args[0]}
    elif len(args) == 1 and (
        _are_pictures(kwargs["images"])
        if given == {"images"}
        else not given and not any(map(_may_be_a_picture, _listed(args[0])))
    ):
        swapped = {"text": args[0]}
    else:
        return args, kwargs
    if any(scope.is_handled_around(FIX.id, error) for error in (TypeError, ValueError, RuntimeError)):
        return args, kwargs
    return (), {**kwargs, **swapped}


def _took_text_first(processor: Any) -> bool:
    """Whether an older release of the class did, and its image processor, which may read a name, is the library's."""
    own = (kind for kind in type(processor).__mro__ if scope.was_written_in("transformers", kind))
    pictures = type(getattr(processor, "image_processor", None))
    return next(own).__name__ in _CLASSES.split() and scope.was_written_in("transformers", pictures)


def _listed(value: Any) -> Any:
    return value if isinstance(value, (list, tuple)) else [value]


def _is_text(value: Any) -> bool:
    return bool(_listed(value)) and all(isinstance(each, str) for each in _listed(value))


def _are_pictures(value: Any) -> bool:
    values = [inner for each in _listed(value) for inner in _listed(each)]
    return bool(values) and all(hasattr(each, "shape") or hasattr(each, "getbands") for each in values)


def _may_be_a_picture(text: str) -> bool:
    """Whether a text is the address or the file of an image, or may encode one: that is long and without spaces."""
    is_encoded = len(text) > 30 and " " not in text
    return text.startswith(("http:", "https:", "data:")) or is_encoded or os.path.exists(text)
