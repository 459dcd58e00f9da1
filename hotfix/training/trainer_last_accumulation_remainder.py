"""The last micro-batches of an epoch that do not fill an accumulation step are dropped; training may end early.

Symptom   Silent. With ``gradient_accumulation_steps=N`` the last micro-batches of each epoch are dropped where they
          are fewer than N; the step is not made, and the gradient of those that were read stays for the next epoch. Of
          85 samples in batches of 8 and N = 4, one of the last three micro-batches is used. Where the step is made, as
          with one sample a batch, the number of steps does not count it: training ends before the last epoch does.
Cause     How many micro-batches the last group has is taken from the number of samples, not from that of batches, and
          the steps of an epoch are rounded down. 4.46 makes no step at the end of an epoch, besides.
Releases  4.46.1 to 4.51.3
Upstream  transformers#37777, transformers#37923 (fixed in 4.52.1)
Here      The last group has the remaining micro-batches, and its step is made and counted. Bitwise equal to 4.52.1: a
          run that is given in epochs has more steps than before, and its schedule is as much longer. With ``max_steps``
          there are as many steps as before. The loop has its own plan corrected, so that a copy of its source that
          somebody runs in its place (unsloth) keeps both. Left alone are a run that is resumed from a checkpoint which
          stock has planned, an overridden ``set_initial_training_values``, a custom schedule, which may be for stock's
          steps (OneCycleLR, a table), a schedule of the library's that the program made for as many steps as stock
          plans, and data without a length. The number of batches may be an estimate where a loader, a sampler or a
          batch sampler has a length or an iterator of the program's own (batches by a budget of tokens), and with an
          `IterableDataset`: such epochs are left alone, too.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
from pathlib import Path
from typing import Any, Optional

from hotfix._support.memo import weakly
from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import Rewrite, occurs

FIX = Fix(
    title="The last micro-batches of each epoch are not trained on where they do not fill an accumulation step",
    kind="silent",
    upstream=("transformers#37777", "transformers#37923"),
    fixed_in="4.52.1",
    prefilter="remainder = num_examples",
    everyone="the plan and the loop are the library's: the new code tests the rest itself",
)

_OF_SAMPLES = "remainder = num_examples % args.gradient_accumulation_steps"
_VALUES = (
    "(num_train_epochs, num_update_steps_per_epoch, num_examples, num_train_samples, epoch_based, "
    "len_dataloader, max_steps)"
)
_PLANNED = "self.set_initial_training_values(args, train_dataloader, total_train_batch_size)"
# The plan counts the step at the end of an epoch.
_IS_WHOLE = (
    "len_dataloader is not None and are_batches_counted and "
    "num_update_steps_per_epoch * args.gradient_accumulation_steps >= steps_in_epoch"
)
_COUNTED = (
    f"from {__name__} import counts_batches, steps_per_epoch, with_whole_epochs\n"
    "are_batches_counted = len_dataloader is not None and counts_batches(self, args, train_dataloader)\n"
    "if are_batches_counted:"
)

# Where the steps are counted (by a method from 4.49.0 on), and, in 4.46, when one is made.
_CHANGES = (
    Rewrite(
        _OF_SAMPLES,
        f"remainder = (steps_in_epoch if {_IS_WHOLE} else num_examples) % args.gradient_accumulation_steps",
    ),
    Rewrite(
        "num_update_steps_per_epoch = len_dataloader // args.gradient_accumulation_steps",
        "num_update_steps_per_epoch = len_dataloader // args.gradient_accumulation_steps\n"
        f"{_COUNTED}\n"
        "    num_update_steps_per_epoch = steps_per_epoch(self, args, len_dataloader, resume_from_checkpoint)",
    ),
    Rewrite(
        f"{_VALUES} = {_PLANNED}",
        f"{_VALUES} = {_PLANNED}\n{_COUNTED}\n"
        f"    {_VALUES} = with_whole_epochs(self, args, resume_from_checkpoint, {_VALUES})",
    ),
    Rewrite(
        "do_sync_step = __LESS or total_batched_samples % args.gradient_accumulation_steps == 0",
        f"""
        if {_IS_WHOLE}:
            do_sync_step = (step + 1) % args.gradient_accumulation_steps == 0 or step + 1 == steps_in_epoch
        else:
            do_sync_step = __LESS or total_batched_samples % args.gradient_accumulation_steps == 0
        """,
    ),
)


@FIX.edits(("transformers.trainer:Trainer._inner_training_loop", ">=4.46.1,<=4.51.3"))
def whole_epochs(node: ast.AST) -> Optional[ast.AST]:
    """Each of the changes that this release needs."""
    if not isinstance(node, ast.FunctionDef) or node.name != "_inner_training_loop":
        return None
    for change in _CHANGES:
        node, _ = change.apply(node)
    return node


def steps_per_epoch(trainer: Any, args: Any, batches: int, resumed_from: Optional[str]) -> int:
    """How many optimizer steps an epoch has.

    Args:
        trainer: that plans a run.
        args: `TrainingArguments`.
        batches: micro-batches of an epoch.
        resumed_from: folder of the checkpoint from which the run is resumed, or None.

    Returns:
        The number of accumulation steps, rounded up; rounded down where the checkpoint was planned so, and where the
        learning rate schedule is the user's own.
    """
    stock, whole = (
        max(count, 1) for count in (batches // args.gradient_accumulation_steps, _rounded_up(batches, args))
    )
    if whole != stock and args.max_steps <= 0 and _has_a_schedule(trainer, math.ceil(args.num_train_epochs * stock)):
        return stock
    if whole == stock or not resumed_from or not _is_planned_by_stock(args, batches, stock, whole, resumed_from):
        return whole
    scope.leave_alone(FIX.id, f"{resumed_from} is of a run that this release has planned")
    return stock


def with_whole_epochs(trainer: Any, args: Any, resumed_from: Optional[str], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The plan of a run, as `Trainer.set_initial_training_values` returns it, with the steps of whole epochs."""
    epochs, _, examples, samples, is_epoch_based, batches, steps = values
    if not batches or not scope.is_own(FIX.id, trainer, "set_initial_training_values"):
        return values
    per_epoch = steps_per_epoch(trainer, args, batches, resumed_from)
    if is_epoch_based:
        steps = math.ceil(args.num_train_epochs * per_epoch)
    else:
        epochs = math.ceil(steps / per_epoch)
    return epochs, per_epoch, examples, samples, is_epoch_based, batches, steps


def counts_batches(trainer: Any, args: Any, loader: Any) -> bool:
    """Whether the length of a loader is the number of its batches; also where nothing depends on it.

    Args:
        trainer: that plans a run.
        args: `TrainingArguments`.
        loader: of the training data. It is not iterated, since that may draw random numbers.
    """
    import torch  # the Trainer has

    if args.gradient_accumulation_steps == 1:
        return True
    for data in (getattr(loader, "dataset", None), getattr(trainer, "train_dataset", None)):
        if isinstance(data, torch.utils.data.IterableDataset):
            return scope.leave_alone(FIX.id, f"{type(data).__name__} may have fewer samples than its length says")
    return _is_counted(loader)


def _is_counted(part: Any, depth: int = 0) -> bool:
    """Whether a loader and its samplers are counted and iterated by the library, Accelerate, torch or Python."""
    if type(part).__module__ == "builtins" or depth == 8:  # wrappers of Accelerate add one or two
        return True
    if not all(scope.is_own(FIX.id, part, name) for name in ("__len__", "__iter__")):
        return False
    below = (getattr(part, name, None) for name in ("batch_sampler", "sampler"))
    return all(_is_counted(sampler, depth + 1) for sampler in below)


def _has_a_schedule(trainer: Any, planned: int) -> bool:
    """Whether the schedule of the learning rate is the user's own, and may be for the steps that stock has planned."""
    if not all(scope.is_own(FIX.id, trainer, name) for name in ("create_scheduler", "create_optimizer_and_scheduler")):
        return True
    if any(_makes_steps(type(callback)) for callback in trainer.callback_handler.callbacks):
        return not scope.leave_alone(FIX.id, "a callback of yours may step a schedule of its own")
    given = None if getattr(trainer, "_created_lr_scheduler", False) else getattr(trainer, "lr_scheduler", None)
    inner = getattr(given, "scheduler", given)  # Accelerate's wrapper
    if inner is None or type(inner).__name__ == "ReduceLROnPlateau":  # which does not count steps
        return False
    made_by = getattr(inner, "lr_lambdas", None)  # the library's are `LambdaLR` with functions of its own
    if made_by and all(scope.is_own(FIX.id, function) for function in made_by):
        if planned not in map(_steps_of, made_by):
            return False
        return not scope.leave_alone(FIX.id, "your schedule has as many steps as this release has planned")
    return not scope.leave_alone(FIX.id, f"{type(inner).__name__} may have as many steps as this release has planned")


def _steps_of(function: Any) -> Optional[int]:
    """For how many steps a function of the library's was made: those of `get_cosine_schedule_with_warmup`, or None."""
    given = getattr(function, "keywords", None) or {}
    if "num_decay_steps" in given:  # of `get_wsd_schedule`
        names = ("num_warmup_steps", "num_stable_steps", "num_decay_steps")
        return sum(int(given.get(name) or 0) for name in names)
    number = given.get("num_training_steps")
    return None if number is None else int(number)


@weakly
def _makes_steps(kind: type) -> bool:
    """Whether a user's callback has a schedule, and calls its ``step``."""
    bases = (base for base in kind.__mro__ if base.__module__.partition(".")[0] not in ("transformers", "builtins"))
    functions = (value for base in bases for value in vars(base).values() if callable(value))
    codes = (getattr(inspect.unwrap(function), "__code__", None) for function in functions)
    names = {name for code in codes if code is not None for name in code.co_names}
    return "step" in names and any(name.endswith("LR") or "sched" in name.lower() for name in names)


def _rounded_up(batches: int, args: Any) -> int:
    return -(-batches // int(args.gradient_accumulation_steps))


def _is_planned_by_stock(args: Any, batches: int, stock: int, whole: int, folder: str) -> bool:
    """Whether the plan of a checkpoint, or else its steps and epochs, are those of epochs without their last step."""
    try:
        state = json.loads((Path(folder) / "trainer_state.json").read_text(encoding="utf-8"))
        step, epoch = int(state["global_step"]), float(state["epoch"])
    except (OSError, ValueError, TypeError, KeyError):
        return False

    planned, would_be = (math.ceil(args.num_train_epochs * count) for count in (stock, whole))
    if args.max_steps <= 0 and planned != would_be and state.get("max_steps") in (planned, would_be):
        return bool(state["max_steps"] == planned)

    def distance(per_epoch: int) -> float:
        done, last = divmod(max(step - 1, 0), per_epoch)
        read = min((last + 1) * int(args.gradient_accumulation_steps), batches)
        return abs(done + read / batches - epoch)

    return not math.isclose(distance(stock), distance(whole), abs_tol=1e-6) and distance(stock) < distance(whole)


@FIX.recognises
def is_broken(*judged: ast.AST) -> bool:
    """The loop, which every verdict is made on, takes the rest from the number of samples."""
    return occurs(_OF_SAMPLES, *judged)
