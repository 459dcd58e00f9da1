"""Positions of texts with videos, each frame behind a time, as the processors of Qwen3-VL write them."""

import torch

from hotfix.models.qwen3vl_v5_video_stopiteration import FIX
from hotfix.proofs import zoo
from hotfix.proofs.models._positions import without_weights
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="StopIteration")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions and deltas: of an image and of a video of one frame, which always worked, and of longer videos."""
    model = without_weights(testbed, zoo.class_of(target))
    frame, image = (zoo.QWEN_VIDEO, 6), (zoo.QWEN_IMAGE, 4)
    results = {}
    for name, parts, grids in (
        ("image", [3, image, 4], {"images": ((1, 4, 4),)}),
        ("one frame", [3, 2, frame, 4], {"videos": ((1, 4, 6),)}),
        ("three frames", [3, 2, frame, 2, frame, 2, frame, 4], {"videos": ((3, 4, 6),)}),
        (
            "image and two videos",
            [3, image, 2, frame, 2, frame, 1, 2, frame, 2, frame, 2, frame],
            {"images": ((1, 4, 4),), "videos": ((2, 4, 6), (3, 6, 4))},
        ),
    ):
        ids = torch.tensor([zoo.qwen_sentence(testbed, parts)])
        positions, deltas = zoo.qwen_rope_index(model, ids, **grids)
        results.update({f"{name}: positions": positions, f"{name}: deltas": deltas})
    return results
