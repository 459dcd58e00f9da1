"""DataParallel passes the number of labels to replicas that each divide by all of it, or loses replicas over it.

Symptom   With several visible GPUs and a script that is launched with plain ``python``, for models that take loss
          arguments. 4.46.1 and 4.47.1 to 4.49.0: silent, loss and gradients are n_gpu times too small. 4.51.0 to
          4.56.2: silent, only the first GPU computes, the rows of the others are discarded, and the rest is divided by
          the labels of all; with label smoothing or a custom loss function, shapes do not match.
          4.46.2, 4.46.3 and 4.50: ``RuntimeError: chunk expects at least a 1-dimensional tensor`` in the first step.
Cause     The Trainer passes ``num_items_in_batch``, counted over the whole step, to DataParallel as it is. A Python
          number goes to each replica, whose sums are divided by it and then averaged. A tensor is cut along its first
          axis: without an axis it cannot be, and one element makes one part, and so one replica.
Releases  4.46.1 to 4.56.2. 4.47.0 and 4.48.0 do it too, but their Trainer has no number to hand on for these models,
          until trainer-ga-num-items-dropped gives it one.
Upstream  transformers#36492, transformers#36967; transformers#37474, transformers#40799 (fixed in 4.57.0)
Here      Each replica gets its share, the number divided by the number of replicas, so that the average is the loss of
          the step; also for a last batch with rows for some of the GPUs only. On two GPUs bitwise equal to 4.57.1,
          where the forward of the model is. A loss that does not come about by the number (of a model that ignores it,
          a loss function, label smoothing) stays a mean, which is right; 4.57.1 multiplies it by n_gpu.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix
from hotfix.training import _passed_on

if TYPE_CHECKING:
    from collections.abc import Mapping

FIX = Fix(
    title="With several GPUs under plain python, loss and gradients are n_gpu times too small, or GPUs are left out",
    kind="silent",
    upstream=("transformers#36492", "transformers#36967", "transformers#37474", "transformers#40799"),
    fixed_in="4.57.0",
    errors=("RuntimeError: chunk expects at least a 1-dimensional tensor",),
    prefilter='["num_items_in_batch"] = num_items_in_batch',
    everyone="only for a DataParallel of several devices; a tensor cannot be handed to it by anybody",
)

FIX.edits(
    ("transformers.trainer:Trainer.compute_loss", ">=4.46.1,<=4.56.2"),
    old='__ARGUMENTS["num_items_in_batch"] = num_items_in_batch',
    new=f"""
        from {__name__} import share
        __ARGUMENTS["num_items_in_batch"] = share(model, inputs, num_items_in_batch)
    """,
)


def share(model: Any, inputs: Mapping[str, Any], number: Any) -> Any:
    """The divisor of the sum over the rows of a replica, for which the mean of all replicas is the loss of the step.

    Args:
        model: what the Trainer calls.
        inputs: the arguments of the call; the first axis of a tensor is that of the batch.
        number: of labels in the step: an int, or an int64 tensor of one element.

    Returns:
        The number itself, unless the model is a DataParallel of several devices. Else the number divided by that of
        the replicas which get rows: a float, or float32 of shape ``(replicas,)``, an element for each replica.
    """
    import torch

    devices = len(model.device_ids) if isinstance(model, torch.nn.DataParallel) else 1
    if devices < 2 or (torch.is_tensor(number) and number.numel() != 1):
        return number
    if not torch.is_tensor(number) and not _passed_on.is_library_path(FIX.id, model.module, "forward"):
        return number
    rows = [tensor for tensor in inputs.values() if torch.is_tensor(tensor) and tensor.dim() > 0]
    replicas = min((len(tensor.chunk(devices)) for tensor in rows), default=devices)
    if torch.is_tensor(number):
        return (number.float().reshape(1) / replicas).expand(replicas)
    return number / replicas


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The number is passed on unchanged, and the loss does not depend on how many devices there are."""
    text = ast.unparse(function)
    return "kwargs['num_items_in_batch'] = num_items_in_batch" in text and ".n_gpu" not in text
