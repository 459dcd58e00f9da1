"""Under DeepSpeed a loss that is normalised over the whole step is divided once more by the number of micro-batches.

Symptom   Silent. With DeepSpeed and ``gradient_accumulation_steps=N`` gradients are N times too small: of models that
          take the number of labels from the Trainer (4.46.2, 4.46.3, 4.47.1), of models that do not (4.48.0), of all
          (4.48.1 to 4.48.3). The reported loss is right.
Cause     DeepSpeed's engine divides every loss by N in its backward pass. What the Trainer or the model has normalised
          over all micro-batches of the step must not be.
Releases  4.46.2 to 4.48.3, less 4.47.0, which keeps the number back from the models: their mean is divided once.
Upstream  transformers#35808 (fixed in 4.49.0)
Here      The engine is told ``scale_wrt_gas=False`` where the loss has been normalised, as 4.49.0 does. Gradients are
          equal to those of 4.49.0 where all losses are (4.48.1 to 4.48.3), and elsewhere where this loss is.
"""

from __future__ import annotations

import ast
import os
import tempfile
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.patching import code
from hotfix.training._steps import PACKAGES, classified, free_port, small_bert, small_llama, texts

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="deepspeed-double-gas-scaling",
    title="Gradients are gradient_accumulation_steps times too small under DeepSpeed",
    kind="silent",
    needs={"deepspeed": ">0"},
    upstream=("transformers#35808",),
    fixed_in="4.49.0",
    order=1,  # after trainer-ga-multiplied-loss, which rewrites the statements around the backward pass
    prefilter="self.accelerator.backward(",
)

_BACKWARD = "self.accelerator.backward(loss, **kwargs)"
_TAKES_NUMBER = "self.model_accepts_loss_kwargs"
_HAS_FUNCTION = "self.compute_loss_func is not None"

# What is normalised over the step before the backward pass, by the test of the division that stands before it.
_NORMALISED = {
    "": f"num_items_in_batch is not None and ({_TAKES_NUMBER} or {_HAS_FUNCTION})",
    "num_items_in_batch is None": f"num_items_in_batch is None or (not {_TAKES_NUMBER} and {_HAS_FUNCTION})",
    f"not {_TAKES_NUMBER} and self.compute_loss_func is None": "True",
}


@FIX.edits(("transformers.trainer:Trainer.training_step", ">=4.46.2,<=4.48.3,!=4.47.0"))
def engine_told_not_to_scale(node: ast.AST) -> Optional[ast.If]:
    """Before the backward pass, tell DeepSpeed's engine whether it has to divide."""
    normalised = _normalised(node)
    if normalised is None:
        return None
    assert isinstance(node, ast.If)
    place = [ast.unparse(one) for one in node.orelse].index(_BACKWARD)
    told = code.statements(
        f"if self.accelerator.distributed_type == DistributedType.DEEPSPEED and ({normalised}): "
        "kwargs['scale_wrt_gas'] = False",
        at=node.orelse[place],
    )
    return ast.If(test=node.test, body=node.body, orelse=[*node.orelse[:place], *told, *node.orelse[place:]])


def _normalised(node: ast.AST) -> Optional[str]:
    """What the branch with the backward pass takes for granted of its loss, as a condition; None if it is another."""
    if not isinstance(node, ast.If) or ast.unparse(node.test) != "self.use_apex":
        return None
    text = [ast.unparse(one) for one in node.orelse]
    if _BACKWARD not in text or any("scale_wrt_gas" in one or "loss *=" in one for one in text):
        return None
    tests = [ast.unparse(one.test) for one in node.orelse[: text.index(_BACKWARD)] if isinstance(one, ast.If)]
    return _NORMALISED.get("".join(tests))


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """Something is normalised over the step, and the engine is not told."""
    found = [condition for condition in map(_normalised, ast.walk(function)) if condition]
    statements = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.stmt)}
    keeps_back = "loss = self.compute_loss(model, inputs)" in statements
    takes = "num_items_in_batch" in [one.arg for one in function.args.args]
    return takes and bool(found) and not (keeps_back and found == [_NORMALISED[""]])


@FIX.case(packages={**PACKAGES, "deepspeed": "0.16.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """DeepSpeed's own engine, on the CPU: a Llama and a BERT in four micro-batches of one sample, and in one batch.

    Returns:
        For each, the length of all gradients together as a multiple of that of the batch: 1 if all is right.
    """
    import torch

    samples = {"decoder": texts(testbed, (1, 1, 1, 1)), "encoder": classified(testbed)}
    makes = {"decoder": small_llama, "encoder": small_bert}
    job = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": free_port()}
    os.environ.update({name: str(value) for name, value in job.items()}, MASTER_ADDR="127.0.0.1", DS_ACCELERATOR="cpu")
    backend: Any = import_module("deepspeed.comm.torch")
    backend.build_shm_op = lambda: None  # it would compile an operator that ranks talk through; there is one rank
    told = {}
    for kind, make in makes.items():
        micro = length_of_gradients(make(testbed), samples[kind], gradient_accumulation_steps=4)
        whole = length_of_gradients(make(testbed), samples[kind], per_device_train_batch_size=4)
        told[kind] = micro / whole
    torch.distributed.destroy_process_group()
    return told


def length_of_gradients(model: Any, samples: Sequence[dict[str, Any]], **steps: int) -> torch.Tensor:
    """Take one step of plain gradient descent under DeepSpeed, and see how far it went."""
    import torch
    from transformers import Trainer, TrainingArguments

    engine: dict[str, Any] = dict.fromkeys(
        ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"), "auto"
    )
    engine.update(zero_optimization={"stage": 0}, zero_allow_untested_optimizer=True)
    before = [one.detach().clone() for one in model.parameters()]
    with tempfile.TemporaryDirectory() as folder:
        defaults: dict[str, Any] = {"per_device_train_batch_size": 1, "max_steps": 1, "max_grad_norm": 0.0}
        descent: dict[str, Any] = {"optim": "sgd", "learning_rate": 1.0, "lr_scheduler_type": "constant"}
        quiet: dict[str, Any] = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
        arguments = TrainingArguments(folder, deepspeed=engine, **{**defaults, **descent, **quiet, **steps})
        Trainer(model=model, args=arguments, train_dataset=list(samples)).train()
    moved = [(one - other.detach()).double().flatten() for one, other in zip(before, model.parameters())]
    return torch.cat(moved).norm()
