"""Vision-language models lack ``get_image_features``, ``get_decoder`` and others for a few releases.

Symptom   ``AttributeError: 'LlavaForConditionalGeneration' object has no attribute 'get_image_features'``; the same of
          ``get_video_features``, ``pack_image_features``, ``get_decoder`` and ``set_decoder``.
Cause     4.52.0 moved the methods into the new model without a head. 4.53.0 put them back.
Releases  4.52.1 to 4.52.4
Upstream  transformers#37033 (brought it; put back in 4.53.0)
Here      Each calls the method of the model without a head. ``get_decoder`` returns the language model, as in 4.51.3
          and 4.55.0: in 4.53 some return a method instead.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'LlavaForConditionalGeneration' object has no attribute 'get_image_features'",
    kind="removed-api",
    upstream=("transformers#37033",),
    group="removed-names",
    errors=(
        "AttributeError: '…ForConditionalGeneration' object has no attribute 'get_image_features'",
        "AttributeError: '…ForConditionalGeneration' object has no attribute 'get_video_features'",
        "AttributeError: '…ForConditionalGeneration' object has no attribute 'pack_image_features'",
        "AttributeError: '…ForConditionalGeneration' object has no attribute 'get_decoder'",
        "AttributeError: '…ForConditionalGeneration' object has no attribute 'set_decoder'",
    ),
    fixed_in="4.53.0",
)

RELEASES = ">=4.52.1,<4.53.0"
_WITH_IMAGES = """
    aria:Aria aya_vision:AyaVision gemma3:Gemma3 got_ocr2:GotOcr2 llava:Llava llava_next:LlavaNext
    llava_next_video:LlavaNextVideo llava_onevision:LlavaOnevision mistral3:Mistral3 paligemma:PaliGemma
    video_llava:VideoLlava vipllava:VipLlava
"""
_WITH_VIDEOS = "llava_next_video:LlavaNextVideo llava_onevision:LlavaOnevision"
_WITH_TILES = f"llava_next:LlavaNext {_WITH_VIDEOS}"
_WITH_DECODER = f"{_WITH_IMAGES} mllama:Mllama"


def _of_classes(classes: str, method: str) -> list[tuple[str, str]]:
    pairs = [(folder, name) for folder, _, name in (entry.partition(":") for entry in classes.split())]
    return [
        (f"transformers.models.{folder}.modeling_{folder}:{name}ForConditionalGeneration.{method}", RELEASES)
        for folder, name in pairs
    ]


def _of_the_inner_model(method: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.model, method)(*args, **kwargs)

    call.__name__ = method
    return call


for _method, _classes in {
    "get_image_features": _WITH_IMAGES,
    "get_video_features": _WITH_VIDEOS,
    "pack_image_features": _WITH_TILES,
}.items():
    FIX.adds(*_of_classes(_classes, _method))(_of_the_inner_model(_method))


@FIX.adds(*_of_classes(_WITH_DECODER, "get_decoder"))
def get_decoder(self: Any) -> Any:
    """The language model."""
    return self.model.language_model


@FIX.adds(*_of_classes(_WITH_DECODER, "set_decoder"))
def set_decoder(self: Any, decoder: Any) -> None:
    """Set the language model."""
    self.model.language_model = decoder
