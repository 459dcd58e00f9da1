"""A T5 with a loss function that divides by the number of labels: four micro-batches of eight labels, and one batch.

Nothing may change for a Llama.
"""

from functools import partial
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._counted import padded_ways, whole_texts
from hotfix.proofs.training._steps import LATER_PACKAGES, one_step
from hotfix.proofs.training.num_items_off_by_one import summed
from hotfix.proofs.zoo import samples_for, small_llama, trained
from hotfix.training.v5_num_items_undercount_seq2seq import FIX


@FIX.case(packages=LATER_PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Loss and gradients of one optimizer step of both models."""
    from transformers import T5ForConditionalGeneration

    data = samples_for(testbed, T5ForConditionalGeneration)
    for sample in data:  # the Trainer keeps the labels from the model where the loss is a user's function
        sample["decoder_input_ids"] = sample["labels"].roll(1).index_fill(0, sample["labels"].new_zeros(1), 0)
    results: dict[str, torch.Tensor] = {}
    for argument in ("gradient_accumulation_steps", "per_device_train_batch_size"):
        arguments: dict[str, Any] = {argument: len(data)}
        values = one_step(trained(testbed, T5ForConditionalGeneration), data, _summed, **arguments)
        results.update({f"T5, {argument}: {name}": value for name, value in values.items()})
    causal = padded_ways(partial(small_llama, testbed), whole_texts(testbed))
    return {**results, **{f"Llama: {name}": value for name, value in causal.items()}}


def _summed(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
    return summed({"logits": outputs["logits"].flatten(0, 1)}, labels.flatten(), num_items_in_batch)
