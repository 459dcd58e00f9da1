"""Texts with two images each, one token apart, in a training step and in `generate` of a small Gemma 3."""

import torch

from hotfix.models.gemma3_mask_image_distance_heuristic import FIX, PREPARE
from hotfix.proofs import zoo
from hotfix.proofs.models import gemma3_bidirectional_across_images
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Two texts with two images each, one token apart; forward and backward, or continued by `generate`."""
    if str(target) == PREPARE:
        return generated(testbed)
    return gemma3_bidirectional_across_images.case(testbed, target)


def generated(testbed: Testbed) -> dict[str, torch.Tensor]:
    """Four tokens for each of two prompts with two images, greedily, and their logits.

    The cache is that of Google's checkpoints, with a place for each token in the layers without a window.
    """
    model, inputs = zoo.gemma3(testbed)
    output = model.generate(
        **inputs,
        cache_implementation="hybrid",
        max_new_tokens=4,
        do_sample=False,
        eos_token_id=None,
        return_dict_in_generate=True,
        output_logits=True,
    )
    return {"tokens": output.sequences[:, 16:], "logits": torch.stack(output.logits, dim=1)}
