"""Pictures of some thousand sizes: how many features a processor expects, and how many the model makes."""

from importlib import import_module
from types import SimpleNamespace
from typing import Any

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
        features = features_of(modeling, f"{name}ForConditionalGeneration", down, across)
        for height in _SIDES:
            for width in _SIDES:
                expected, _ = count(None, height, width, _TILE, _TILE, down, across)
                made = features((height, width))
                numbers.append(int(expected))
                if expected != made:
                    wrong.append((int(expected), made))
    if wrong:
        tokens, number = wrong[0]
        raise ValueError(f"Image features and image tokens do not match: tokens: {tokens}, features {number}")
    return {"features": torch.tensor(numbers)}


def features_of(modeling: Any, name: str, down: int, across: int) -> Any:
    """A function from the size of a picture to the number of features of its tiles.

    Args:
        modeling: the module of the model.
        name: the model's class. LLaVA-NeXT is called as in its forward, since a program's own call of ``unpad_image``
            is left alone.
        down: number of tiles, downwards.
        across: number of tiles, across.
    """
    if "Next" not in name:
        patches = torch.zeros(1, down * _TILE, across * _TILE)
        return lambda size: modeling.unpad_image(patches, size).numel()
    config = SimpleNamespace(
        vision_config=SimpleNamespace(image_size=_TILE, patch_size=1),
        image_grid_pinpoints=[[down * _TILE, across * _TILE]],
        image_token_index=1,
    )
    pack = getattr(modeling, name).pack_image_features
    tiles = torch.zeros(1 + down * across, _TILE * _TILE, 1)

    def features(size: tuple[int, int]) -> int:
        legacy_processing, input_ids = False, torch.zeros(1, 0)  # in the forward: the processor has counted
        packed, _ = pack(SimpleNamespace(config=config), [tiles], [size], vision_feature_select_strategy="default")
        return int(packed.numel() + input_ids.numel()) - _TILE * _TILE + int(legacy_processing)

    return features
