"""Two samples in one forward of a vision or audio encoder under FlashAttention."""

import torch

from hotfix.models.qwenvl_vision_fa2_crash import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """An encoder takes two images of different sizes, or two sounds of different lengths; forward and backward."""
    encoder, inputs = zoo.encoder_and_inputs(testbed, target)
    output = encoder.train()(**inputs)
    output = getattr(output, "last_hidden_state", output)
    loss = output.float().square().mean()
    loss.backward()
    testbed.assert_flash("flash_attn_varlen_func")
    return {"output": output, "loss": loss, **testbed.gradients(encoder)}
