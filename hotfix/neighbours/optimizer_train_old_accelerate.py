"""The Trainer calls ``optimizer.train()``, which accelerate before 0.34 passes on to optimizers that have none.

Symptom   ``AttributeError: 'AdamW' object has no attribute 'train'`` (or ``'eval'``) in the first step, with accelerate
          0.26 to 0.33.
Cause     The Trainer asks whether its optimizer has the method. What accelerate puts around an optimizer always has it,
          and hands the call on without asking.
Releases  4.45.0 to 4.57.6
Upstream  accelerate#3055, first there in accelerate 0.34.0; 5.x requires accelerate 1.1
Here      The optimizer inside is asked, which is what accelerate does since.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="optimizer-train-old-accelerate",
    title="AttributeError: 'AdamW' object has no attribute 'train'",
    kind="crash",
    needs={"accelerate": "<0.34"},
    upstream=("transformers#33620",),
    fixed_in="5.0.0",
)

BROKEN = ">=4.45.0,<=4.57.6"
INSIDE = 'getattr(getattr(self.optimizer, "optimizer", self.optimizer), "{0}", None)'


def _asked(mode: str, beside: str, *methods: str) -> None:
    old = f'hasattr(self.optimizer, "{mode}") and callable(self.optimizer.{mode})'
    targets = [(f"transformers.trainer:Trainer.{one}", BROKEN) for one in methods]
    FIX.edits(*targets, old=old, new=f"callable({INSIDE.format(mode)})", beside=beside)


# 5.x asks the same, and cannot meet an accelerate that does not: what stands beside it is gone from 5.0.0.
_asked("train", "self.use_apex", "training_step")
_asked("eval", "args.past_index >= 0", "evaluation_loop", "prediction_loop")
