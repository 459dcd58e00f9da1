"""DataParallel hands the number of labels to replicas that each divide by all of it, or loses replicas over it.

Symptom   With several visible GPUs and a script that is launched with plain ``python``, for models that take loss
          arguments. 4.46.1 and 4.47.1 to 4.49.0: silent, loss and gradients are n_gpu times too small. 4.51.0 to
          4.56.2: silent, only the first GPU computes, the rows of the others are thrown away, and what is left is
          divided by the labels of all; with label smoothing or a loss function of one's own, shapes do not match.
          4.46.2, 4.46.3 and 4.50: ``RuntimeError: chunk expects at least a 1-dimensional tensor`` in the first step.
Cause     The Trainer hands ``num_items_in_batch``, counted over the whole step, to DataParallel as it is. A Python
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
from functools import partial
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.training._steps import one_step, small_llama, texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="trainer-dp-loss-mean-num-items",
    title="With several GPUs under plain python, loss and gradients are n_gpu times too small, or GPUs are left out",
    kind="silent",
    upstream=("transformers#36492", "transformers#36967", "transformers#37474", "transformers#40799"),
    fixed_in="4.57.0",
    prefilter='["num_items_in_batch"] = num_items_in_batch',
)

_NUMBER = "num_items_in_batch"


@FIX.edits(("transformers.trainer:Trainer.compute_loss", ">=4.46.1,<=4.56.2"))
def share_in_place_of_the_number(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Where the number is added to the arguments of the model, add the share of a replica."""
    if not isinstance(node, ast.Assign) or not _hands_it_on(node):
        return None
    return code.statements(
        f"""\
from {__name__} import share
{ast.unparse(node.targets[0])} = share(model, inputs, {_NUMBER})
""",
        at=node,
    )


def share(model: Any, inputs: Mapping[str, Any], number: Any) -> Any:
    """What a model has to divide the sum over its rows by, so that the mean over all replicas is the loss of the step.

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
    rows = [one for one in inputs.values() if torch.is_tensor(one) and one.dim() > 0]
    replicas = min((len(one.chunk(devices)) for one in rows), default=devices)
    if torch.is_tensor(number):
        return (number.float().reshape(1) / replicas).expand(replicas)
    return number / replicas


def _hands_it_on(node: ast.Assign) -> bool:
    return ast.unparse(node) in [f"{name}['{_NUMBER}'] = {_NUMBER}" for name in ("loss_kwargs", "kwargs")]


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The number is handed on as it is, and the loss does not depend on how many devices there are."""
    nodes = list(ast.walk(function))
    hands_on = any(isinstance(node, ast.Assign) and _hands_it_on(node) for node in nodes)
    return hands_on and not any(isinstance(node, ast.Attribute) and node.attr == "n_gpu" for node in nodes)


@FIX.case(packages={"accelerate": "1.15.0", "flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama on two replicas with two texts each, and on one with all four.

    Returns:
        ``WHOSE, one batch …`` and ``WHOSE, replicas …``, as `_steps.one_step` names it. WHOSE is ``Trainer``, on texts
        with equally many labels, since releases that keep the number back take the mean of the replicas' means; and
        ``own``, a ``training_step`` of the user's that hands the number on in all releases, on 2, 5, 7 and 8 labels.
    """
    from hotfix.training._data_parallel import replicas_for_devices, two_devices

    def own_step(trainer: Any) -> None:
        two_devices(trainer)
        trainer.training_step = partial(_handing_on, trainer)

    told = {}
    for whose, firsts, prepare in (("Trainer", (1, 1, 1, 1), two_devices), ("own", (7, 4, 2, 1), own_step)):
        samples = texts(testbed, firsts)
        one = one_step(small_llama(testbed), samples, per_device_train_batch_size=4)
        with replicas_for_devices():
            two = one_step(small_llama(testbed), samples, prepare=prepare, per_device_train_batch_size=2)
        told.update({f"{whose}, one batch {name}": value for name, value in one.items()})
        told.update({f"{whose}, replicas {name}": value for name, value in two.items()})
    return told


def _handing_on(trainer: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
    """A ``training_step`` that hands the number on."""
    loss = trainer.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch).mean()
    loss.backward()
    return loss.detach()
