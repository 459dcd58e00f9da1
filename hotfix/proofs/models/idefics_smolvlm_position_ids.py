"""Images with and without padding, in a vision tower whose patches are single pixels."""

from importlib import import_module

import torch

from hotfix.models.idefics_smolvlm_position_ids import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Embeddings of images at full resolution, with fewer rows, and with padding; what a model makes of the padded.

    The gradient of the position embedding tells which positions were taken.
    """
    module, name = import_module(target.module), target.qualname.partition("Embeddings")[0]
    results = {}
    for dtype in (torch.float32, torch.bfloat16):
        model = zoo.patch_tower(testbed, module, name, dtype)
        for shape in zoo.PATCH_IMAGES:
            with torch.no_grad():
                results[f"{shape}, {dtype}"] = model.embeddings(**zoo.patch_image(testbed, shape, dtype))
        output = model(**zoo.patch_image(testbed, "padded", dtype)).last_hidden_state
        output.float().square().mean().backward()
        results[f"output, {dtype}"] = output
        results[f"gradient, {dtype}"] = model.embeddings.position_embedding.weight.grad
    return results
