"""A Qwen2.5-VL processor, saved and loaded, also with another image processor or tokenizer."""

from tempfile import TemporaryDirectory
from typing import Any

import torch

from hotfix.processing.processor_args_shift import FIX
from hotfix.proofs.processing._pictures import PACKAGES, SMALL, tokens
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import qwen_processor


@FIX.case(
    raises=r"TypeError: .*__init__\(\) got multiple values for argument 'image_processor'",
    packages=PACKAGES,
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Results of each for a picture and a word."""
    from transformers import AutoProcessor, Qwen2_5_VLProcessor, Qwen2VLImageProcessor, Qwen2VLVideoProcessor

    results = {}
    limits = {"min_pixels": SMALL["shortest_edge"], "max_pixels": SMALL["longest_edge"]}
    mine = Qwen2VLImageProcessor(**limits)
    ways: dict[str, dict[str, Any]] = {
        "as saved": {},
        "image processor": {"image_processor": mine},
        "tokenizer": {"tokenizer": _tokenizer()},
        "both": {"image_processor": mine, "tokenizer": _tokenizer()},
    }
    with TemporaryDirectory() as folder:
        saved = Qwen2_5_VLProcessor(Qwen2VLImageProcessor(), _tokenizer(), Qwen2VLVideoProcessor())
        saved.save_pretrained(folder)
        for way, options in ways.items():
            for cls in (Qwen2_5_VLProcessor, AutoProcessor):
                processor = cls.from_pretrained(folder, **options)
                made = tokens(processor)
                results.update({f"{way}, {cls.__name__}: {name}": value for name, value in made.items()})
    return results


def _tokenizer() -> Any:
    """The tokenizer of the other Qwen cases."""
    return qwen_processor(lambda image_processor, tokenizer: tokenizer, None)
