"""The Trainer divides the loss of a micro-batch by the number of micro-batches, and Accelerate divides it again.

Symptom   Silent. With ``gradient_accumulation_steps=N`` all gradients are N times too small, of every model and every
          loss function: plain SGD learns N times slower, ``max_grad_norm`` clips N times too late, and the reported
          ``grad_norm`` is N times too small. The reported loss is right.
Cause     The Trainer normalises the loss over the whole step before the backward pass. Since 5.2.0 it also tells
          Accelerate the number of micro-batches, and `Accelerator.backward` divides by the number that it was told.
Releases  5.2.0 to 5.5.3
Upstream  transformers#45305, transformers#45349 (fixed in 5.5.4)
Here      Accelerate is told that there is one micro-batch, whether the number comes from the training arguments or
          from ``accelerator_config``, whose dictionary is left alone. Bitwise equal to 5.5.4, with one exception: a
          model that takes the number of labels and ignores it (ga-loss-kwargs-swallowed-vlm) is divided by Accelerate
          alone, so its gradients are right in these releases; in 5.5.4 they are N times too large. They stay as they
          are. A ``compute_loss`` of one's own that ignores the number is as in 5.5.4: its Trainer has to set
          ``model_accepts_loss_kwargs = False``.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="v5-trainer-ga-double-division",
    title="Gradients are gradient_accumulation_steps times too small: Trainer and Accelerate both divide the loss",
    kind="silent",
    upstream=("transformers#45305", "transformers#45349"),
    fixed_in="5.5.4",
    prefilter="GradientAccumulationPlugin(",
)

_CREATE, _STEP = "Trainer.create_accelerator_and_postprocess", "Trainer.training_step"
_RELEASES = ">=5.2.0,<=5.5.3"

# Accelerate may divide where the Trainer does not, as up to 4.46.0: both definitions are judged, and both must divide.
_JUDGED = (_CREATE, _STEP)
_BOTH_DIVIDE = (
    "grad_acc_kwargs['num_steps'] = self.args.gradient_accumulation_steps",
    "loss = loss / self.current_gradient_accumulation_steps",
)

FIX.edits(
    (f"transformers.trainer:{_CREATE}", _RELEASES),
    old="GradientAccumulationPlugin(**grad_acc_kwargs)",
    new="GradientAccumulationPlugin(**{**grad_acc_kwargs, 'num_steps': 1})",
    beside=_BOTH_DIVIDE,
    fingerprint_of=_JUDGED,
)

# What Accelerate alone has divided is divided here.
FIX.edits(
    (f"transformers.trainer:{_STEP}", _RELEASES),
    old="self.accelerator.backward(loss, **kwargs)",
    new="""
        from hotfix.training._swallowed import divisor
        self.accelerator.backward(loss / divisor(self, num_items_in_batch), **kwargs)
    """,
    beside=_BOTH_DIVIDE,
    fingerprint_of=_JUDGED,
)
