"""Positions of a video of several frames, and of an image."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hotfix.models.qwen25vl_v5_temporal_position_collapse import FIX

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions of a video of 3 frames that begins at 7, and of an image."""
    import torch

    owner, _, method = target.qualname.partition(".")
    positions = getattr(getattr(import_module(target.module), owner), method)  # needs no weights, so no model
    video, image = torch.tensor([3, 4, 6]), torch.tensor([1, 4, 6])
    return {
        "video": positions(None, 7, video, 1, 2, device=testbed.device),
        "video, 2 seconds a frame": positions(None, 7, video, 1, 2, 4, device=testbed.device),
        "image": positions(None, 7, image, 1, 2, device=testbed.device),
    }
