"""What is left of an epoch once its micro-batches are in groups is not trained on, and training may end early.

Symptom   Silent. With ``gradient_accumulation_steps=N`` the last micro-batches of each epoch are dropped where they
          are fewer than N; the step is not made, and the gradient of those that were read stays for the next epoch. Of
          85 samples in batches of 8 and N = 4, one of the last three micro-batches is used. Where the step is made, as
          with one sample a batch, the number of steps does not count it: training ends before the last epoch does.
Cause     How many micro-batches the last group has is taken from the number of samples, not from that of batches, and
          the steps of an epoch are rounded down. 4.46 makes no step at the end of an epoch, besides.
Releases  4.46.1 to 4.51.3
Upstream  transformers#37777, transformers#37923 (fixed in 4.52.1)
Here      The last group has what is left, its step is made and counted. Bitwise equal to 4.52.1: a run that is given in
          epochs has more steps than before, and its schedule is as much longer. With ``max_steps`` there are as many
          steps as ever.
"""

from __future__ import annotations

import ast
from typing import Optional

from hotfix.fix import Fix
from hotfix.pattern import Rewrite, occurs

FIX = Fix(
    id="trainer-last-accumulation-remainder",
    title="The last micro-batches of each epoch are not trained on where they do not fill an accumulation step",
    kind="silent",
    upstream=("transformers#37777", "transformers#37923"),
    fixed_in="4.52.1",
    prefilter="remainder = num_examples",
)

_LOOP, _PLAN = "Trainer._inner_training_loop", "Trainer.set_initial_training_values"
_OF_SAMPLES = "remainder = num_examples % args.gradient_accumulation_steps"
_ROUNDED_UP = "-(-len_dataloader // args.gradient_accumulation_steps)"

# Where the steps are counted (in `_PLAN` from 4.49.0 on), and, in 4.46, when one is made.
_CHANGES = (
    Rewrite(_OF_SAMPLES, "remainder = steps_in_epoch % args.gradient_accumulation_steps"),
    Rewrite(
        "num_update_steps_per_epoch = len_dataloader // args.gradient_accumulation_steps",
        f"num_update_steps_per_epoch = {_ROUNDED_UP}",
    ),
    Rewrite(
        "do_sync_step = __LESS or total_batched_samples % args.gradient_accumulation_steps == 0",
        "do_sync_step = (step + 1) % args.gradient_accumulation_steps == 0 or step + 1 == steps_in_epoch",
    ),
)


@FIX.edits((f"transformers.trainer:{_LOOP}", ">=4.46.1,<=4.51.3"))
def whole_epochs(node: ast.AST) -> Optional[ast.AST]:
    """Each of the changes that this release needs."""
    if not isinstance(node, ast.FunctionDef) or node.name != "_inner_training_loop":
        return None
    for change in _CHANGES:
        node, _ = change.apply(node)
    return node


FIX.edits(
    (f"transformers.trainer:{_PLAN}", ">=4.49.0,<=4.51.3"),
    old="max(len_dataloader // args.gradient_accumulation_steps, 1)",
    new=f"max({_ROUNDED_UP}, 1)",
    fingerprint_of=(_PLAN, _LOOP),
)


@FIX.recognises
def is_broken(*judged: ast.AST) -> bool:
    """The loop, which every verdict is made on, takes the rest from the number of samples."""
    return occurs(_OF_SAMPLES, *judged)
