"""A Trainer reads the random numbers that it has saved, and those of the other numpy."""

import random
import tempfile
from pathlib import Path

import torch

from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.training._steps import PACKAGES
from hotfix.proofs.zoo import small_llama
from hotfix.training.trainer_rng_state_torch26_no_safe_globals import FIX


@FIX.case(
    raises="UnpicklingError: Weights only load failed",
    packages=PACKAGES,
    with_fixes=("accelerator-dispatch-batches",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The next numbers of all three, as they were saved, and after they were read."""
    import numpy
    from transformers import Trainer, TrainingArguments

    results = {}
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(folder, use_cpu=True, report_to=[], seed=7)
        trainer = Trainer(model=small_llama(testbed), args=arguments)
        trainer._save_rng_state(folder)
        for way in ("saved", "read"):
            results[f"{way}: python"] = torch.tensor(random.random())
            results[f"{way}: numpy"] = torch.tensor(numpy.random.rand())
            results[f"{way}: torch"] = torch.rand(())
            if way == "saved":
                trainer._load_rng_state(folder)
        assert Path(folder, "rng_state.pth").is_file()
    return results
