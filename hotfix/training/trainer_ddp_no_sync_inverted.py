"""The Trainer switches the synchronization of gradients between ranks off for the last micro-batch, and only for it.

Symptom   Silent. Under DistributedDataParallel with one micro-batch a step, gradients are never averaged: each rank
          trains a model of its own, and rank 0 saves its own. With more, the last micro-batch of each step
          is left out of the average, and the ranks drift apart all the same. FSDP is affected, too.
Cause     The Trainer enters ``accelerator.no_sync`` if the micro-batch is the last one of the step, instead of if it is
          not.
Releases  4.46.2
Upstream  transformers#34645 (fixed in 4.46.3)
Here      The comparison is turned around. Bitwise equal to 4.46.3.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gradients of the last micro-batch are not averaged over the ranks: each rank trains a different model",
    kind="silent",
    upstream=("transformers#34645",),
    fixed_in="4.46.3",
    prefilter="accelerator.no_sync",
    everyone="a comparison is turned around, which has no effect but under DDP and FSDP, where all ranks drift apart",
)

FIX.edits(
    ("transformers.trainer:Trainer._inner_training_loop", "==4.46.2"),
    old="functools.partial(self.accelerator.no_sync, model=model) if i == len(batch_samples) - 1 else __OTHERWISE",
    new="functools.partial(self.accelerator.no_sync, model=model) if i != len(batch_samples) - 1 else __OTHERWISE",
)
