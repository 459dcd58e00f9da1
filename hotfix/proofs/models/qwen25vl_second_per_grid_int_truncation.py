"""Positions of a video at several frame rates."""

from importlib import import_module

import torch

from hotfix.models.qwen25vl_second_per_grid_int_truncation import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(with_fixes=("qwen25vl-v5-temporal-position-collapse",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions of a video of 4 frames at several rates; nothing follows it, since 5.3.0 continues elsewhere."""
    model = zoo.qwen_vl(testbed, getattr(import_module(target.module), target.qualname.partition(".")[0]))
    ids = torch.tensor([zoo.qwen_sentence(testbed, [3, (zoo.QWEN_VIDEO, 16)])]).to(testbed.device)
    results = {}
    for seconds in (0.5, 1.0, 1.25, 2.0):
        positions, deltas = zoo.qwen_rope_index(model, ids, videos=((4, 4, 4),), seconds=[seconds])
        results[f"{seconds}: positions"] = positions
        results[f"{seconds}: deltas"] = deltas
    return results
