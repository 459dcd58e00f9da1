"""Prompts of different lengths, with and without images, continued in one batch."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.qwen2vl_decode_delta_left_padding import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Three prompts of different length, two with an image, are continued by four tokens.

    Returns:
        ``tokens`` of shape (3, 4) and their ``logits`` of shape (3, 4, 64).
    """
    cls = getattr(import_module(target.module), target.qualname.partition(".")[0])
    model = zoo.qwen_vl(testbed, cls, dtype=torch.float32)
    return generated(model, *prompts(testbed))


PROMPTS = ((3, (zoo.QWEN_IMAGE, 6), 4), (5,), (1, (zoo.QWEN_IMAGE, 4), 2))
GRIDS = ((1, 4, 6), (1, 4, 4))  # of the two images: frames, rows and columns of patches, of which 2 x 2 are a token


def prompts(testbed: Testbed) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids, attention mask and ``image_grid_thw``."""
    rows = [zoo.qwen_sentence(testbed, parts, seed) for seed, parts in enumerate(PROMPTS)]
    return *zoo.qwen_padded_left(rows, testbed.device), torch.tensor(GRIDS, device=testbed.device)


def generated(model: Any, ids: torch.Tensor, mask: torch.Tensor, grids: Any) -> dict[str, torch.Tensor]:
    """Greedy generation."""
    output = model.generate(
        input_ids=ids,
        attention_mask=mask,
        image_grid_thw=grids,
        max_new_tokens=4,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    return {"tokens": output.sequences[:, ids.shape[1] :], "logits": torch.stack(output.logits, dim=1)}
