"""Two images in one forward of GLM-4V's vision encoder under eager attention."""

import torch

from hotfix.models.glm4v_bool_mask import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The encoder takes two images of different sizes; forward and backward."""
    encoder, inputs = zoo.encoder_and_inputs(testbed, target, attn="eager")
    output = encoder.train()(**inputs)
    loss = output.float().square().mean()
    loss.backward()
    return {"output": output, "loss": loss, **testbed.gradients(encoder)}
