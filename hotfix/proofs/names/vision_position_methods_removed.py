"""The proof: positions of two images and a video."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.vision_position_methods_removed import FIX
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {"depth": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 32}


@FIX.case(
    raises="AttributeError: '.*' object has no attribute '(rot_pos_emb|get_window_index|fast_pos_embed_interpolate)'",
    oracles={"*": "5.16.1"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the method returns."""
    module, (owner, _, method) = import_module(target.module), target.qualname.partition(".")
    names = (name for name in vars(module) if name.endswith(("VisionConfig", "VisionEncoderConfig")))
    config = getattr(module, next(names))(**_SIZES)
    tower: Any = testbed.fill(getattr(module, owner)(config))
    grid = torch.tensor([[1, 8, 12], [2, 4, 8]], device=testbed.device)
    results = _called(tower, method, grid)
    return {f"result {place}": torch.as_tensor(result) for place, result in enumerate(results)}


def _called(tower: Any, method: str, grid: torch.Tensor) -> tuple[Any, ...]:
    if method == "get_window_index":
        order, ends = tower.get_window_index(grid)
        return order, ends
    if method == "rot_pos_emb":
        return (tower.rot_pos_emb(grid),)
    return (tower.fast_pos_embed_interpolate(grid),)
