"""Texts with two images each, in a training step of a small Gemma 3."""

import torch

from hotfix.models.gemma3_bidirectional_across_images import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Two texts with two images each, one padded on the left; forward, and backward from the labels.

    The images are only tokens, since the mask does not depend on their features.
    """
    model, inputs = zoo.gemma3(testbed)
    output = model.train()(**inputs, labels=inputs["input_ids"], use_cache=False)
    output.loss.backward()
    gradients = {f"gradient of {_short(name)}": parameter.grad for name, parameter in model.named_parameters()}
    return {
        "logits": output.logits[inputs["attention_mask"].bool()],
        "loss": output.loss,
        **{name: gradient for name, gradient in gradients.items() if gradient is not None},
    }


def _short(name: str) -> str:
    """The name of a parameter from its layer or module on; the rest differs between releases."""
    layer = name.rpartition("layers.")
    return layer[2] if layer[1] else ".".join(name.split(".")[-2:])
