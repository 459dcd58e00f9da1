"""The Trainer of 4.56.0 asks its accelerator for something that only Accelerate 1.10 and newer have.

Symptom   ``AttributeError: 'Accelerator' object has no attribute 'parallelism_config'`` in the first step of training.
Cause     Every other place asks with a default; that which counts labels does not.
Releases  4.56.0, with accelerate before 1.10
Upstream  transformers#40668 (fixed in 4.56.1)
Here      That place reads it with a default, too. Bitwise equal to 4.56.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'Accelerator' object has no attribute 'parallelism_config'",
    kind="crash",
    needs={"accelerate": "<1.10"},
    upstream=("transformers#40668",),
    fixed_in="4.56.1",
    errors=("AttributeError: 'Accelerator' object has no attribute 'parallelism_config'",),
    everyone="only where the accelerator lacks the attribute: the new code tests it",
    prefilter="pc := self.accelerator.parallelism_config",
)

FIX.edits(
    ("transformers.trainer:Trainer.get_batch_samples", "==4.56.0"),
    old="(pc := self.accelerator.parallelism_config)",
    new='(pc := getattr(self.accelerator, "parallelism_config", None))',
)
