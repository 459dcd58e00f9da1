"""Several processes write a checkpoint into a folder that one of them renames while the others are at work.

Symptom   ``FileNotFoundError: [Errno 2] No such file or directory: '.../tmp-checkpoint-500' ->
          '.../checkpoint-500'`` or ``OSError: [Errno 39] Directory not empty`` when a checkpoint is saved: the run is
          lost. With several machines, parts of it stay in ``tmp-checkpoint-500``, or are removed with it.
Cause     A checkpoint is written to ``tmp-checkpoint-N`` and renamed at the end. In 4.36.0 every process
          renames it; in 4.36.1 the first one of every machine, also where the machines share a disk; in 4.37 only that
          of the first machine does, also where the machines have disks of their own; in 4.38 those of the others remove
          it, which is the same folder where they share a disk.
Releases  4.36.0 to 4.36.1, and 4.37.0 to 4.38.2; in 4.36.2 the processes take turns
Upstream  transformers#27925, transformers#28119, transformers#28364, transformers#28848 (fixed in 4.39.0)
Here      Where the processes can meet, a checkpoint is written where it belongs, as in 4.39.0: with several processes
          in 4.36, with several machines in 4.37 and 4.38. Elsewhere it is renamed when it is complete, as in stock, so
          that a run which is killed leaves no half of a checkpoint.
"""

from __future__ import annotations

import os
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="Saving a checkpoint fails: No such file or directory: 'tmp-checkpoint-500' -> 'checkpoint-500'",
    kind="crash",
    upstream=("transformers#27925", "transformers#28119", "transformers#28364", "transformers#28848"),
    fixed_in="4.39.0",
    errors=(
        "FileNotFoundError: [Errno 2] No such file or directory: '…tmp-checkpoint-500' -> '…checkpoint-500'",
        "OSError: [Errno 39] Directory not empty: '…tmp-checkpoint-500' -> '…checkpoint-500'",
    ),
)

FIX.edits(
    ("transformers.trainer:Trainer._save_checkpoint", ">=4.36.0,<=4.38.2,!=4.36.2"),
    old='staging_output_dir = os.path.join(run_dir, f"tmp-{checkpoint_folder}")',
    new="staging_output_dir = output_dir",
    unless="with self.args.main_process_first(desc=__WHAT, local=__WHERE):\n    *__REST",
    when=f"import {__name__} as _race; _race.can_meet(self.args)",
)


def can_meet(args: Any) -> bool:
    """Whether processes that rename the folder meet others that write into it.

    Args:
        args: `TrainingArguments` of one of them. From 4.37.0 on those of one machine wait for each other.
    """
    import transformers  # the Trainer is loaded

    is_alone = 1 if transformers.__version__.startswith("4.36.") else int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return bool(args.world_size > is_alone)
