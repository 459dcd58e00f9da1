"""With label smoothing the Trainer adds up the means of the micro-batches instead of averaging them.

Symptom   Silent. With ``label_smoothing_factor`` and ``gradient_accumulation_steps=N`` loss and gradients of every
          model that takes loss arguments are about N times too large: with N micro-batches of as many labels exactly
          N times. The same holds for N processes with ``average_tokens_across_devices``.
Cause     The Trainer counts the labels of the whole step and leaves the division to the code that computes the loss.
          Its label smoother never gets that number, and takes the mean over each micro-batch.
Releases  4.46.2 to 5.14.1, less 5.2.0 to 5.5.3, in which Accelerate divides.
Upstream  transformers#46731 (fixed in 5.15.0)
Here      The sums of the label smoother are divided by the number of labels in the step, with several micro-batches or
          processes. Equal to 5.15.0. With one of both the mean is right, and stays bit for bit. Left alone are a label
          smoother of one's own, code that scales the loss or the gradients, or that counts otherwise, DeepSpeed up to
          4.48.3, whose engine divides, models whose labels are counted as moved and smoothed as they are
          (vision-language models), several GPUs in one process, and parallelism within a batch.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.training import _loss_path, _passed_on

FIX = Fix(
    title="Loss and gradients are gradient_accumulation_steps times too large with label smoothing",
    kind="silent",
    upstream=("transformers#46731",),
    fixed_in="5.15.0",
    everyone="only where the library's label smoother makes a loss that nobody else divides: the new code tests it",
)

_COMPUTE, _CREATE = "Trainer.compute_loss", "Trainer.create_accelerator_and_postprocess"
_IMPORT = f"from {__name__} import smoothed"

FIX.edits(
    (
        f"transformers.trainer:{_COMPUTE}",
        ">=4.46.2,<=5.14.1,!=5.2.0,!=5.3.0,!=5.4.0,!=5.5.0,!=5.5.1,!=5.5.2,!=5.5.3",
    ),
    old=(
        "loss = self.label_smoother(outputs, labels, shift_labels=True)",
        "loss = self.label_smoother(outputs, labels)",
    ),
    new=(
        f"{_IMPORT}\nloss = smoothed(self, outputs, labels, num_items_in_batch, shift_labels=True)",
        f"{_IMPORT}\nloss = smoothed(self, outputs, labels, num_items_in_batch)",
    ),
    beside="self.compute_loss_func(outputs, labels, num_items_in_batch=num_items_in_batch)",  # since 4.46.0
    unless="grad_acc_kwargs['num_steps'] = self.args.gradient_accumulation_steps",  # elsewhere Accelerate divides
    fingerprint_of=(_COMPUTE, _CREATE),
)


def smoothed(trainer: Any, outputs: Any, labels: Any, number: Any, **moved: bool) -> Any:
    """The loss of a micro-batch with label smoothing.

    Args:
        trainer: of the step.
        outputs: of its model, with ``logits`` of shape ``(…, classes)``.
        labels: int64 of the shape of the logits, less the last axis; -100 does not count.
        number: of labels in the step, an int or a tensor without axes; None if nobody has counted them.
        **moved: ``shift_labels``, if each position predicts the label of the next one.
    """
    loss = trainer.label_smoother(outputs, labels, **moved)
    if number is None or not loss.requires_grad or not _is_part_of_a_step(trainer):
        return loss
    try:
        if not _divides_nobody(trainer, loss, labels, number, **moved):
            return loss
    except Exception as error:  # such as of a user's object that takes part
        scope.undecided(FIX.id, error)
        return loss
    return _by_number(trainer.label_smoother, outputs, labels, number, **moved)


def _is_part_of_a_step(trainer: Any) -> bool:
    """Whether other micro-batches, or other processes, have some of the labels that were counted."""
    processes = trainer.accelerator.num_processes if trainer.args.average_tokens_across_devices else 1
    return _loss_path.micro_batches(trainer) > 1 or processes > 1


def _divides_nobody(trainer: Any, loss: Any, labels: Any, number: Any, shift_labels: bool = False) -> bool:
    """Whether the number is the library's, and neither the program nor DeepSpeed makes up for the missing division."""
    accelerator = trainer.accelerator
    if not trainer.model_accepts_loss_kwargs or trainer.args.n_gpu > 1 or getattr(number, "ndim", 0):
        return False
    if getattr(accelerator, "parallelism_config", None) is not None or _is_divided_later(trainer):
        return False
    if not shift_labels and labels.ndim > 1 and _counts_moved_labels(trainer):
        return False
    if not _loss_path.is_librarys_smoother(FIX.id, trainer) or not _loss_path._is_as_counted(FIX.id, trainer):
        return False
    return _passed_on.is_library_path(FIX.id, trainer, "training_step") and (
        _loss_path.is_mean(FIX.id, trainer, loss, number)
    )


def _is_divided_later(trainer: Any) -> bool:
    """Whether DeepSpeed divides in its backward pass: it does unless the Trainer tells it not to, as since 4.49.0."""
    if trainer.accelerator.gradient_accumulation_steps > 1:
        return True
    step = inspect.unwrap(type(trainer).training_step).__code__
    return trainer.accelerator.distributed_type == "DEEPSPEED" and "scale_wrt_gas" not in step.co_consts


def _counts_moved_labels(trainer: Any) -> bool:
    """Whether the Trainer leaves out the first label of each text, which the smoother does not move here."""
    model = _loss_path.model_of(trainer)
    losses = sys.modules.get("transformers.loss.loss_utils")
    if losses is None or getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        return False
    known = _passed_on.loss_type_of(model)
    return not known or losses.LOSS_MAPPING[known] is losses.ForCausalLMLoss


def _by_number(smoother: Any, outputs: Any, labels: Any, number: Any, shift_labels: bool = False) -> Any:
    """The loss of `LabelSmoother`, as sums that are divided by the number of labels in the step.

    That is so if the micro-batch has fewer labels than the step; otherwise by those that are predicted, as in stock.
    """
    import torch

    here = (labels != smoother.ignore_index).sum()

    logits = outputs["logits"] if isinstance(outputs, dict) else outputs[0]
    if shift_labels:
        logits, labels = logits[..., :-1, :].contiguous(), labels[..., 1:].contiguous()
    costs = -torch.nn.functional.log_softmax(logits, dim=-1)
    wanted = labels if labels.ndim == costs.ndim else labels[..., None]
    is_ignored = wanted == smoother.ignore_index
    of_labels = costs.gather(-1, wanted.clamp(min=0)).masked_fill(is_ignored, 0.0)
    of_all = costs.sum(dim=-1, keepdim=True, dtype=torch.float32).masked_fill(is_ignored, 0.0)
    whole = torch.as_tensor(number, device=costs.device)
    divisor = torch.where(here < whole, whole, (~is_ignored).sum())
    shares = of_labels.sum() / divisor, of_all.sum() / (divisor * costs.shape[-1])
    return (1 - smoother.epsilon) * shares[0] + smoother.epsilon * shares[1]
