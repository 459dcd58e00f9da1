"""A tiny model of each class, two texts of different lengths as labels, their padding masked: loss and a gradient.

Without labels nothing may change.
"""

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._writers import writer
from hotfix.proofs.zoo import class_of
from hotfix.training.labels_shifted_twice import FIX


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss, logits and the gradient of the head; and the logits without labels."""
    model, inputs = writer(testbed, class_of(target))
    output = model(**inputs)
    output.loss.backward()
    results = {"loss": output.loss, "logits": output.logits, "gradient": model.get_output_embeddings().weight.grad}
    labels = inputs.pop("labels")
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = labels.clamp(min=0)
    return {**results, "logits without labels": model(**inputs).logits}
