"""The Swin backbone of MaskFormer in bfloat16, with shifted windows."""

import torch

from hotfix.models.maskformer_swin_mask_dtype import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="RuntimeError: .*dtype")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The second layer of the stage shifts its windows; forward and backward."""
    from transformers.models.maskformer.configuration_maskformer_swin import MaskFormerSwinConfig
    from transformers.models.maskformer.modeling_maskformer_swin import MaskFormerSwinModel

    config = MaskFormerSwinConfig(image_size=32, patch_size=2, embed_dim=8, depths=[2], num_heads=[2], window_size=4)
    model = testbed.fill(MaskFormerSwinModel(config)).to(testbed.device, torch.bfloat16).eval()
    pixels = testbed.randn(1, 3, 32, 32, seed=1).to(torch.bfloat16)
    output = model(pixels).last_hidden_state
    loss = output.float().square().mean()
    loss.backward()
    return {"output": output, "loss": loss, **testbed.gradients(model)}
