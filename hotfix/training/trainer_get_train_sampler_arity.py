"""Overrides of ``_get_train_sampler`` that were written before 4.52 are called with the data set.

Symptom   ``TypeError: GRPOTrainer._get_train_sampler() takes 1 positional argument but 2 were given`` when training
          starts: LLaVA, R1-V, forks of GRPO.
Cause     The Trainer passes the data set instead of letting the method look it up.
Releases  4.52.1 and later
Upstream  LlamaFactory#8207 and six more (not repaired here)
Here      An override that takes no data set is called without; it looks at ``self.train_dataset``, as before.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.training import _old_overrides

FIX = Fix(
    title="TypeError: GRPOTrainer._get_train_sampler() takes 1 positional argument but 2 were given",
    kind="training",
    upstream=("LlamaFactory#8207", "Tina#4"),
    group="removed-names",
    errors=("TypeError: …Trainer…._get_train_sampler() takes 1 positional argument but 2 were given",),
    when=f"""
from {_old_overrides.__name__} import ends, lacks
lacks(self, "_get_train_sampler", 1) and ends("trainer-get-train-sampler-arity")
""",
)

FIX.edits(
    ("transformers.trainer:Trainer.get_train_dataloader", ">=4.52.1"),
    old="""
        return self._get_dataloader(
            dataset=__DATA,
            description=__TEXT,
            batch_size=__ROWS,
            sampler_fn=self._get_train_sampler,
            is_training=True,
        )
    """,
    new=f"""
        from functools import partial as bound
        from {_old_overrides.__name__} import with_as_many
        return self._get_dataloader(
            dataset=__DATA,
            description=__TEXT,
            batch_size=__ROWS,
            sampler_fn=bound(with_as_many, self._get_train_sampler),
            is_training=True,
        )
    """,
)
