"""The case of `flash-rotary-dtype`."""

import torch

from hotfix.models.flash_rotary_dtype import FIX, QWEN2_5_OMNI
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import omni_vision, qwen2_5_vl_with_images


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Forward and backward through the vision encoder, and for Qwen2.5-VL through the whole model, cast to bfloat16."""
    if target.module == QWEN2_5_OMNI:
        model, inputs = omni_vision(testbed)
        output = model(**inputs)
        loss = output.float().square().mean()
        results = {"output": output}
    else:
        model, batch = qwen2_5_vl_with_images(testbed)
        outputs = model(**batch)
        loss = outputs.loss
        results = {"logits": outputs.logits}
    loss.backward()
    testbed.assert_flash("flash_attn_varlen_func")
    return {**results, "loss": loss, **testbed.gradients(model)}
