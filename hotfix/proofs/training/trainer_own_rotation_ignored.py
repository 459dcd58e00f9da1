"""The proof: a Trainer keeps the checkpoints that an override does not delete."""

import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import LATER_PACKAGES
from hotfix.proofs.zoo import small_llama, texts
from hotfix.training.trainer_own_rotation_ignored import FIX


@FIX.case(packages=LATER_PACKAGES, with_fixes=("v5-trainer-methods-removed",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The steps of the checkpoints that are left: all of them, and those after the library's method."""
    from transformers import Trainer

    class Keeping(Trainer):
        def _rotate_checkpoints(self, use_mtime: bool = False, output_dir: Any = None) -> None:
            pass

    class Counting(Trainer):
        def _rotate_checkpoints(self, use_mtime: bool = False, output_dir: Any = None) -> None:
            if self.state.global_step != 2:
                super()._rotate_checkpoints(use_mtime=use_mtime, output_dir=output_dir)

    return {kind.__name__: left(testbed, kind) for kind in (Keeping, Counting)}


def left(testbed: Testbed, kind: Any) -> torch.Tensor:
    """The steps of the checkpoints that a Trainer leaves, which may keep one.

    Args:
        testbed: the testbed.
        kind: the class of the Trainer.
    """
    from transformers import TrainingArguments

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=3,
            save_steps=1,
            save_total_limit=1,
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
        )
        kind(small_llama(testbed), arguments, train_dataset=texts(testbed)).train()
        return torch.tensor(sorted(int(path.name.rpartition("-")[2]) for path in Path(folder).glob("checkpoint-*")))
