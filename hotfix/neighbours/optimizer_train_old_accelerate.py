"""The Trainer calls ``optimizer.train()``, which accelerate before 0.34 passes on to optimizers that have none.

Symptom   ``AttributeError: 'AdamW' object has no attribute 'train'`` (or ``'eval'``) in the first step, with accelerate
          0.26 to 0.33.
Cause     The Trainer asks whether its optimizer has the method. Accelerate's wrapper of an optimizer always has it,
          and passes the call on.
Releases  4.45.0 to 4.51.3
Upstream  accelerate#3055, first there in accelerate 0.34.0; 4.52.1 and later do not train with one that old
Here      The Trainer asks the optimizer inside of accelerate's wrapper as well, as accelerate itself does since. For
          a user's own wrapper, it asks the wrapper. Accelerate's wrapper for DeepSpeed has no optimizer inside,
          and before 0.30 none of its wrappers has the method.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'AdamW' object has no attribute 'train'",
    kind="crash",
    needs={"accelerate": "<0.34"},
    upstream=("transformers#33620",),
    fixed_in="4.52.1",
    errors=(
        "AttributeError: '…AdamW…' object has no attribute 'train'",
        "AttributeError: '…AdamW…' object has no attribute 'eval'",
        "AttributeError: 'Adafactor' object has no attribute 'train'",
        "AttributeError: 'Adafactor' object has no attribute 'eval'",
    ),
    everyone="only Accelerate's own wrapper, which always has the methods, is looked into",
)

BROKEN = ">=4.45.0,<=4.51.3"
INSIDE = (
    'getattr(getattr(self.optimizer, "optimizer", None) if type(self.optimizer).__module__.startswith("accelerate.") '
    'else self.optimizer, "{0}", None)'
)


def _asked(mode: str, *methods: str) -> None:
    for method in methods:
        FIX.edits(
            (f"transformers.trainer:Trainer.{method}", BROKEN),
            old=f'hasattr(self.optimizer, "{mode}") and callable(self.optimizer.{mode})',
            new=f'callable(getattr(self.optimizer, "{mode}", None)) and callable({INSIDE.format(mode)})',
            # Later releases ask the same, and need a newer accelerate here, before they train or evaluate.
            beside="self.accelerator.unwrap_model(model) is not model",
            fingerprint_of=(f"Trainer.{method}", "Trainer._wrap_model"),
        )


_asked("train", "training_step")
_asked("eval", "evaluation_loop", "prediction_loop")
