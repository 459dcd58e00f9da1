"""Positions of a text with an image and videos."""

from importlib import import_module

import torch

from hotfix.models.qwen25vl_image_temporal_positions import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions of two words, an image, three words and two videos; and with the seconds between their frames."""
    model = zoo.qwen_vl(testbed, getattr(import_module(target.module), target.qualname.partition(".")[0]))
    parts = [2, (zoo.QWEN_IMAGE, 6), 3, (zoo.QWEN_VIDEO, 8), (zoo.QWEN_VIDEO, 4)]
    ids = torch.tensor([zoo.qwen_sentence(testbed, parts)]).to(testbed.device)
    results = {}
    for name, seconds in {"one second": None, "seconds": (2.0, 4.0)}.items():
        try:
            # In a generator StopIteration becomes a RuntimeError: a program that handles it itself would get it.
            ((positions, deltas),) = (
                zoo.qwen_rope_index(model, ids, images=((1, 4, 6),), videos=((2, 4, 4), (1, 4, 4)), seconds=each)
                for each in [seconds]
            )
        except RuntimeError:  # the image has taken the seconds of a video
            positions = deltas = torch.empty(0)
        results.update({f"{name}: positions": positions, f"{name}: deltas": deltas})
    return results
