"""Positions of texts with videos of several frames, as a model finds them; and of a text with an image."""

from types import SimpleNamespace
from typing import Any

import torch

from hotfix.models.qwen25vl_v5_temporal_position_collapse import FIX
from hotfix.proofs import zoo
from hotfix.proofs.models._positions import without_weights
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(with_fixes=("qwen25vl-image-temporal-positions", "qwen25vl-second-per-grid-int-truncation"))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions and deltas: of videos of four and of two frames between words, and of an image alone."""
    model = _model(testbed, zoo.class_of(target))
    merged = getattr(model.config.vision_config, "temporal_merge_size", 1)  # frames of patches in one of tokens
    video, image, short = (zoo.QWEN_VIDEO, 24 // merged), (zoo.QWEN_IMAGE, 6), (zoo.QWEN_VIDEO, 12 // merged)
    results = {}
    for name, parts, grids in (
        ("video", [3, video, 4], {"videos": ((4, 4, 6),), "seconds": [1.0]}),
        ("two videos", [2, video, 1, short, 2], {"videos": ((4, 4, 6), (2, 4, 6)), "seconds": [1.0, 2.0]}),
        ("image", [3, image, 4], {"images": ((1, 4, 6),)}),
    ):
        ids = torch.tensor([zoo.qwen_sentence(testbed, parts)])
        positions, deltas = zoo.qwen_rope_index(model, ids, **grids)
        results.update({f"{name}: positions": positions, f"{name}: deltas": deltas})
    return results


def _model(testbed: Testbed, cls: Any) -> Any:
    if not cls.__name__.startswith("Ernie"):
        return without_weights(testbed, cls)
    # 5.4.0 refuses the defaults of its configuration. The method reads only these values.
    model = cls.__new__(cls)
    torch.nn.Module.__init__(model)
    model.config = SimpleNamespace(vision_config=SimpleNamespace(spatial_merge_size=2, temporal_merge_size=2))
    return model
