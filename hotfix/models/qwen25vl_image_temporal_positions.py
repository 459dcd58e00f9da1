"""Qwen2.5-VL takes the seconds between frames of a video for an image.

Symptom   Silent. The temporal position of an image is not that of the text before it, but twice that, or how many
          ``tokens_per_second`` there are. Where images and videos come together with ``second_per_grid_ts``, the videos
          have the seconds of others; most often the list is too short: ``StopIteration``.
Cause     An image is given an interval between frames, and takes it from the list that has one for each video.
Releases  5.3.0 to 5.5.3
Upstream  transformers#45325, transformers#45330 (fixed in 5.5.4)
Here      Only a video takes them; the interval of an image is 1. Bitwise equal to 5.5.4.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models import _qwen
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="qwen25vl-image-temporal-positions",
    title="Qwen2.5-VL applies the seconds between frames of a video to images",
    kind="silent",
    upstream=("transformers#45325", "transformers#45330"),
    fixed_in="5.5.4",
    prefilter="int(next(second_per_grid_ts))",
    order=-1,  # before qwen25vl-second-per-grid-int-truncation changes the expression
)

QWEN2_5_VL = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"

_TAKEN = "time_interval = tokens_per_second * int(next(second_per_grid_ts))"


@FIX.edits((f"{QWEN2_5_VL}:Qwen2_5_VLModel.get_rope_index", ">=5.3.0,<=5.5.3"))
def taken_for_videos(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Make what takes the seconds from the list, where it stands among the statements for both, conditional."""
    if not isinstance(node, ast.Assign) or ast.unparse(node) != _TAKEN:
        return None
    return code.statements(f"if modality_type == 2:\n    {_TAKEN}\nelse:\n    time_interval = 1", at=node)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The seconds are taken from the list, and nothing is asked about images and videos just before."""
    takes = any(taken_for_videos(node) is not None for node in ast.walk(function))
    tests = {ast.unparse(node.test) for node in ast.walk(function) if isinstance(node, ast.If)}
    return takes and "modality_type == 2" not in tests


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions of two words, an image, three words and two videos; and with the seconds between their frames."""
    import torch

    model = _qwen.small(testbed, getattr(import_module(target.module), target.qualname.partition(".")[0]))
    ids = torch.tensor([_qwen.sentence(testbed, [2, (_qwen.IMAGE, 6), 3, (_qwen.VIDEO, 8), (_qwen.VIDEO, 4)])])
    told = {}
    # One entry more than there are videos: with fewer, these releases crash.
    for name, seconds in {"one second": None, "seconds": (2.0, 4.0, 1.0)}.items():
        positions, deltas = _qwen.rope_index(
            model, ids.to(testbed.device), images=((1, 4, 6),), videos=((2, 4, 4), (1, 4, 4)), seconds=seconds
        )
        told.update({f"{name}: positions": positions, f"{name}: deltas": deltas})
    return told
