"""Pictures of some thousand sizes: how many features a processor expects, and how many the model makes."""

from importlib import import_module

import torch

from hotfix.processing.image_token_feature_count_anyres import FIX
from hotfix.proofs.testbed import Target, Testbed

_GRIDS = ((1, 2), (2, 1), (2, 2), (1, 3), (3, 1))  # how many tiles, downwards and across
_SIDES = sorted({*range(49, 1200, 49), *range(103, 1200, 103), *range(100, 1200, 71)})
_TILE = 24  # patches of a side


@FIX.case(packages={"flash-attn": None}, raises="ValueError: Image features and image tokens do not match")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The number of features by grid and size of a picture, as the processor says it; the model must have as many."""
    model = target.module.split(".")[2]
    modeling, processing = (
        import_module(f"transformers.models.{model}.{part}_{model}") for part in ("modeling", "processing")
    )
    words = {"llava": "Llava", "next": "Next", "video": "Video", "onevision": "Onevision"}
    name = "".join(words[part] for part in model.split("_"))
    count = getattr(processing, f"{name}Processor")._get_unpadded_features
    numbers, wrong = [], []
    for down, across in _GRIDS:
        patches = torch.zeros(1, down * _TILE, across * _TILE)
        for height in _SIDES:
            for width in _SIDES:
                expected, _ = count(None, height, width, _TILE, _TILE, down, across)
                made = modeling.unpad_image(patches, (height, width)).numel()
                numbers.append(int(expected))
                if expected != made:
                    wrong.append((int(expected), made))
    if wrong:
        tokens, features = wrong[0]
        raise ValueError(f"Image features and image tokens do not match: tokens: {tokens}, features {features}")
    return {"features": torch.tensor(numbers)}
