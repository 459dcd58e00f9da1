"""What the fixes of crashes in every forward share as a case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from hotfix.proofs.testbed import Testbed


def padded_step(testbed: Testbed, model: Any) -> dict[str, torch.Tensor]:
    """One step of training under FlashAttention on two samples of 9 and 6 tokens, without the optimizer's part.

    Args:
        testbed: where it runs.
        model: a decoder with a vocabulary of 64.

    Returns:
        ``logits`` of shape (2, 9, 64), ``loss``, and the gradient of each parameter.
    """
    import torch

    input_ids = testbed.randint(3, 60, 2, 9, seed=1)
    mask = torch.ones_like(input_ids)
    mask[1, 6:] = 0
    output = model.train()(input_ids, attention_mask=mask, labels=input_ids.where(mask.bool(), -100), use_cache=False)
    output.loss.backward()
    testbed.assert_flash()
    gradients = {f"gradient of {name}": one.grad for name, one in model.named_parameters()}
    return {"logits": output.logits, "loss": output.loss, **gradients}
