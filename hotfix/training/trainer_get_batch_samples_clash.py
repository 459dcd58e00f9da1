"""The Trainer takes a method of a subclass that generates texts for the one that fetches batches.

Symptom   ``TypeError: DPOTrainer.get_batch_samples() takes 3 positional arguments but 4 were given``, or
          ``AttributeError: 'generator' object has no attribute 'generate'``, in the first step: the DPO, KTO and ORPO
          Trainers of TRL before 0.12. The former also from an override that was written for 4.46 to 4.49.
Cause     The name came into use for something else in 4.46, and got an argument in 4.50.
Releases  4.46.1 and later
Upstream  LlamaFactory#8491; TRL 0.12 renamed its own (not repaired here)
Here      Where the override takes a model first, the Trainer fetches batches by its own method; else it is called with
          as many arguments as it takes.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.training import _old_overrides

FIX = Fix(
    title="AttributeError: 'generator' object has no attribute 'generate', in get_batch_samples of a Trainer of TRL",
    kind="training",
    upstream=("LlamaFactory#8491",),
    group="removed-names",
    errors=(
        "TypeError: …Trainer….get_batch_samples() takes 3 positional arguments but 4 were given",
        "AttributeError: 'generator' object has no attribute 'generate'",
    ),
    when=f"""
from {_old_overrides.__name__} import ends, fetches_no_batches
fetches_no_batches(self) and ends("trainer-get-batch-samples-clash")
""",
)

FIX.edits(
    ("transformers.trainer:Trainer._inner_training_loop", ">=4.46.1,<5.3.0"),
    ("transformers.trainer:Trainer._run_epoch", ">=5.3.0"),
    old="batch_samples, num_items_in_batch = self.get_batch_samples(*__ARGUMENTS)",
    new=f"""
        from {_old_overrides.__name__} import batches as batches_of
        batch_samples, num_items_in_batch = batches_of(self, *__ARGUMENTS)
    """,
)
