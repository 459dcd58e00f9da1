"""Processors of pictures and text, called by position as up to 4.53.0: text and picture, lists of them, text alone."""

from typing import Any

import torch

from hotfix.names.text_before_images import FIX
from hotfix.proofs.testbed import Target, Testbed

WORDS = ["[PAD]", "[UNK]", "<image>", "USER", "a", "cat", "hello", "<bos>", "<eos>", "\n"]


@FIX.case(
    raises=r"ValueError: (Incorrect image source|Could not make a flat list)|TypeError|RuntimeError|AttributeError",
    packages={"pillow": "", "torchvision": ""},
    oracles={"*": "4.53.0"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ids and pixels."""
    from PIL import Image

    kind = target.qualname.partition(".")[0]
    processor, text = processor_of(kind)
    picture = Image.new("RGB", (28, 28), (40, 80, 120))
    calls: dict[str, Any] = {
        "one": lambda: processor(text, picture, return_tensors="pt"),
        "lists": lambda: processor([text], [picture], return_tensors="pt"),
    }
    if kind != "PaliGemmaProcessor":  # it wants a picture
        calls["text"] = lambda: processor("hello", return_tensors="pt")
    results: dict[str, torch.Tensor] = {}
    for name, call in calls.items():
        made = call()
        results |= {f"{name}: {key}": made[key] for key in ("input_ids", "pixel_values") if key in made}
    return results


def processor_of(kind: str) -> tuple[Any, str]:
    """A processor, and a text for it.

    Args:
        kind: its class. The mix-in of all processors means that of a vision and a text encoder.
    """
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "<bos>", "eos_token": "<eos>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **special)
    size, crop = {"shortest_edge": 28}, {"height": 28, "width": 28}
    if kind == "ProcessorMixin":
        pictures: Any = transformers.CLIPImageProcessor(size=size, crop_size=crop)
        return transformers.VisionTextDualEncoderProcessor(pictures, tokenizer), "hello a"
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    if kind == "PaliGemmaProcessor":
        pictures = transformers.SiglipImageProcessor(size=crop)
        pictures.image_seq_length = 4
        made = transformers.PaliGemmaProcessor.__new__(transformers.PaliGemmaProcessor)
        made.__class__ = _with_any_tokenizer(transformers.PaliGemmaProcessor)
        made.__init__(pictures, tokenizer)
        return made, "a cat"
    options: dict[str, Any] = {"patch_size": 14, "vision_feature_select_strategy": "default", "image_token": "<image>"}
    if kind == "LlavaNextProcessor":
        pictures = transformers.LlavaNextImageProcessor(size=size, crop_size=crop, image_grid_pinpoints=[[28, 28]])
    else:
        pictures = transformers.CLIPImageProcessor(size=size, crop_size=crop)
    return getattr(transformers, kind)(pictures, tokenizer, **options), "USER <image> cat"


def _with_any_tokenizer(kind: Any) -> Any:
    """The class without its check of the tokenizer's class."""
    return type(kind.__name__, (kind,), {"tokenizer_class": "PreTrainedTokenizerFast", "__module__": kind.__module__})
