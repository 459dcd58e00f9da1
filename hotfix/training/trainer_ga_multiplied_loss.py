"""The Trainer adds up micro-batches instead of averaging them, for models that do not normalise their loss themselves.

Symptom   Silent. With ``gradient_accumulation_steps=N`` the gradients of every model whose forward takes no loss
          arguments (encoders, vision-language models, nets of one's own) are N times too large: the learning rate is,
          in effect. The reported loss looks right in 4.46.2 to 4.47.0 and is N times too large in 4.46.1 and 4.47.1.
Cause     Since 4.46 the Trainer divides by the number of labels in all micro-batches of a step, through the model or
          ``compute_loss_func``, and no longer by the number of micro-batches. Where neither is told that number, the
          loss is a mean over one micro-batch and nobody divides: 4.46.1 cancels Accelerate's division by multiplying,
          later releases have it switched off and divide, if at all, only what they report.
Releases  4.46.1 to 4.47.1. 4.46.0 has been withdrawn from the package index.
Upstream  transformers#34191, transformers#34263, transformers#35203; transformers#35207 (fixed in 4.48.0)
Here      A loss that is a mean over one micro-batch is divided by the number of micro-batches before the backward pass,
          unless Accelerate or DeepSpeed does so by itself; the same quotient is reported. Bitwise equal to 4.48.0.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    id="trainer-ga-multiplied-loss",
    title="Gradients are gradient_accumulation_steps times too large for models that take no loss arguments",
    kind="silent",
    upstream=("transformers#34191", "transformers#34263", "transformers#35203", "transformers#35207"),
    fixed_in="4.48.0",
)

# The loss is a mean over its own micro-batch, since nobody was told how many labels there are in the whole step.
_IS_MEAN = "num_items_in_batch is None or not (self.model_accepts_loss_kwargs or self.compute_loss_func is not None)"
# DeepSpeed's engine divides in its own backward pass; so does Accelerate, if its launcher was told the number.
IS_DIVIDED_LATER = (
    "self.accelerator.distributed_type == DistributedType.DEEPSPEED or self.accelerator.gradient_accumulation_steps > 1"
)

FIX.edits(
    ("transformers.trainer:Trainer.training_step", ">=4.46.1,<=4.47.1"),
    alternatives=True,
    old=(
        # 4.46.1 cancels Accelerate's division,
        "loss *= self.args.gradient_accumulation_steps",
        # later releases divide only what they report.
        """
        self.accelerator.backward(loss, **kwargs)
        if num_items_in_batch is None:
            return loss.detach() / self.args.gradient_accumulation_steps
        return loss.detach()
        """,
    ),
    new=(
        f"""
        if not ({_IS_MEAN}):
            loss *= self.args.gradient_accumulation_steps
        """,
        f"""
        share = loss / self.args.gradient_accumulation_steps if {_IS_MEAN} else loss
        loss = loss if {IS_DIVIDED_LATER} else share
        self.accelerator.backward(loss, **kwargs)
        return share.detach()
        """,
    ),
)
