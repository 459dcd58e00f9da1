"""The Trainer divides the loss of a micro-batch by the number of micro-batches, and Accelerate divides it again.

Symptom   Silent. With ``gradient_accumulation_steps=N`` gradients are N times too small where the Trainer or the model
          has normalized the loss over the step: plain SGD learns N times slower, ``max_grad_norm`` clips N times too
          late, and the reported ``grad_norm`` is N times too small. The reported loss is right.
Cause     The Trainer normalizes the loss over the whole step before the backward pass. Since 5.2.0 it also gives
          Accelerate the number of micro-batches, and `Accelerator.backward` divides by it.
Releases  5.2.0 to 5.5.3
Upstream  transformers#45305, transformers#45349 (fixed in 5.5.4)
Here      A loss that was divided by the number of labels in the step, or by that of the micro-batches, is not divided
          again: the Accelerator has one micro-batch a step during the backward pass. Bitwise equal to 5.5.4. A mean
          that nobody else divides is left to Accelerate, whose one division is right for it: label smoothing, a
          ``compute_loss`` or ``compute_loss_func`` of the user that ignores the number, a model that ignores it
          (ga-loss-kwargs-swallowed-vlm). In 5.5.4 those gradients are N times too large. A ``training_step`` of one's
          own that calls the backward pass itself is left alone, too.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gradients are gradient_accumulation_steps times too small: Trainer and Accelerate both divide the loss",
    kind="silent",
    upstream=("transformers#45305", "transformers#45349"),
    fixed_in="5.5.4",
    prefilter="GradientAccumulationPlugin(",
    everyone="only where the loss is seen to be normalized over the step: the new code tests it itself",
)

_CREATE, _STEP = "Trainer.create_accelerator_and_postprocess", "Trainer.training_step"

FIX.edits(
    (f"transformers.trainer:{_STEP}", ">=5.2.0,<=5.5.3"),
    old="self.accelerator.backward(loss, **kwargs)",
    new="""
        import hotfix.training._loss_path as _loss_path
        _loss_path.backward(self, loss, num_items_in_batch, 'v5-trainer-ga-double-division', **kwargs)
    """,
    # Accelerate may divide where the Trainer does not, as up to 4.46.0: both definitions are judged.
    beside=(
        "grad_acc_kwargs['num_steps'] = self.args.gradient_accumulation_steps",
        "GradientAccumulationPlugin(**grad_acc_kwargs)",
        "loss = loss / self.current_gradient_accumulation_steps",
    ),
    fingerprint_of=(_CREATE, _STEP),
)
