"""Masks of conversations whose last answer is cut."""

from functools import partial

import torch

from hotfix.processing.assistant_mask_of_a_cut_answer import FIX
from hotfix.proofs.processing.assistant_mask_beyond_the_turn import conversation, mask_of, speaking
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The masks of one text and of three, by where they are cut."""
    tokenizer = speaking("Metaspace")
    mask = partial(mask_of, tokenizer)
    short, long = conversation("b c d"), conversation("b", "c a d b")
    results = {"whole": mask(short), "batch": mask([short, long, long[:2]], padding=True)}
    for length in (3, 6, 7, 10, 14):
        results[f"cut after {length}"] = mask(long, truncation=True, max_length=length)
        results[f"batch cut after {length}"] = mask(
            [long, short, long], truncation=True, max_length=length, padding=True
        )
    return results
