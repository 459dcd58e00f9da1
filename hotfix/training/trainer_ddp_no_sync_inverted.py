"""The Trainer switches the synchronisation of gradients between ranks off for the last micro-batch, and only for it.

Symptom   Silent. Under DistributedDataParallel with one micro-batch a step, gradients are never averaged: each rank
          trains a model of its own, and what is saved is that of rank 0. With more, the last micro-batch of each step
          is left out of the average, and the ranks drift apart all the same. FSDP is told the same.
Cause     The Trainer enters ``accelerator.no_sync`` if the micro-batch is the last one of the step, instead of if it is
          not.
Releases  4.46.2
Upstream  transformers#34645 (fixed in 4.46.3)
Here      The comparison is turned around. Bitwise equal to 4.46.3.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.training._steps import PACKAGES, on_two_ranks, one_step, small_llama

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="trainer-ddp-no-sync-inverted",
    title="Gradients of the last micro-batch are not averaged over the ranks: each rank trains another model",
    kind="silent",
    upstream=("transformers#34645",),
    fixed_in="4.46.3",
    prefilter="accelerator.no_sync",
)


@FIX.edits(("transformers.trainer:Trainer._inner_training_loop", "==4.46.2"))
def synchronised_at_the_last(node: ast.AST) -> Optional[ast.IfExp]:
    """In the choice between ``accelerator.no_sync`` and another context, turn "is the last" into "is not the last"."""
    if not isinstance(node, ast.IfExp) or "self.accelerator.no_sync" not in ast.unparse(node.body):
        return None
    test = node.test
    if not isinstance(test, ast.Compare) or ast.unparse(test) != "i == len(batch_samples) - 1":
        return None
    turned = ast.copy_location(ast.Compare(left=test.left, ops=[ast.NotEq()], comparators=test.comparators), test)
    return ast.IfExp(test=turned, body=node.body, orelse=node.orelse)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The context without synchronisation is chosen for the last micro-batch."""
    return any(synchronised_at_the_last(node) is not None for node in ast.walk(function))


@FIX.case(packages=PACKAGES)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Two ranks over gloo take a step on a Llama, with one micro-batch each, and with two.

    Returns:
        ``MICRO-BATCHES, rank RANK: …`` as `_steps.one_step` names it; the gradients of the ranks should be equal.
    """
    ids = testbed.randint(0, 32, 4, 9, seed=1).cpu()
    labels = ids.clone()
    labels[:, 0] = -100  # what comes first is no label in any release
    samples = [{"input_ids": one, "labels": label} for one, label in zip(ids, labels)]

    def train(rank: int) -> dict[str, torch.Tensor]:
        results = {}
        for micro_batches in (1, 2):
            told = one_step(
                small_llama(testbed),
                samples[: 2 * micro_batches],
                gradient_accumulation_steps=micro_batches,
                ddp_backend="gloo",
            )
            results.update({f"{micro_batches}, rank {rank}: {name}": value for name, value in told.items()})
        return results

    return on_two_ranks(train)
