"""Overrides of ``log`` that were written before 4.47 are called with an argument more.

Symptom   ``TypeError: DPOTrainer.log() takes 2 positional arguments but 3 were given`` at the first logging step: TRL
          before 0.13, and custom Trainers.
Cause     The Trainer passes the time at which training began.
Releases  4.47.0 and later
Upstream  trl#2445 (not repaired here)
Here      An override is called with as many arguments as it takes.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.training import _old_overrides

FIX = Fix(
    title="TypeError: DPOTrainer.log() takes 2 positional arguments but 3 were given",
    kind="training",
    upstream=("trl#2445",),
    group="removed-names",
    errors=("TypeError: …Trainer….log() takes 2 positional arguments but 3 were given",),
    when=f"from {_old_overrides.__name__} import ends, lacks; lacks(self, 'log', 2) and ends('trainer-log-arity')",
)

FIX.edits(
    ("transformers.trainer:Trainer._maybe_log_save_evaluate", ">=4.47.0"),
    old="self.log(logs, start_time)",
    new=f"""
        from {_old_overrides.__name__} import with_as_many
        with_as_many(self.log, logs, start_time)
    """,
)
