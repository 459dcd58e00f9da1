"""The Trainer adds up micro-batches instead of averaging them, for models that do not normalize their loss themselves.

Symptom   Silent. With ``gradient_accumulation_steps=N`` the gradients of every model whose forward takes no loss
          arguments (encoders, vision-language models, custom models) are N times too large: the learning rate is,
          in effect. The reported loss looks right in 4.46.2 to 4.47.0 and is N times too large in 4.46.1 and 4.47.1.
Cause     Since 4.46 the Trainer divides by the number of labels in all micro-batches of a step, through the model or
          ``compute_loss_func``, and no longer by the number of micro-batches. Where neither gets that number, the
          loss is a mean over one micro-batch and nobody divides: 4.46.1 cancels Accelerate's division by multiplying,
          later releases have it switched off and divide, if at all, only what they report.
Releases  4.46.1 to 4.47.1. 4.46.0 has been withdrawn from the package index.
Upstream  transformers#34191, transformers#34263, transformers#35203; transformers#35207 (fixed in 4.48.0)
Here      A loss that is a mean over one micro-batch is divided by the number of micro-batches before the backward pass,
          unless Accelerate or DeepSpeed does so by itself; the same quotient is reported. Bitwise equal to 4.48.0,
          except in an epoch with fewer micro-batches: it is divided by their number, as in later releases. Left alone
          is a loss that was divided by the number of labels or of micro-batches, by whomever; one that is a sum, which
          micro-batches rightly add up to; and a user's loss for which neither can be seen.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gradients are gradient_accumulation_steps times too large for models that take no loss arguments",
    kind="silent",
    upstream=("transformers#34191", "transformers#34263", "transformers#35203", "transformers#35207"),
    fixed_in="4.48.0",
    everyone="only where the loss is seen to be a mean that nobody has divided: the new code tests it itself",
)

_ID = "trainer-ga-multiplied-loss"
# The number of labels in the step is not in use, and the loss is seen to be a mean over its own micro-batch.
_IMPORT = "import hotfix.training._loss_path as _loss_path"
_IS_MEAN = (
    "((num_items_in_batch is None or not (self.model_accepts_loss_kwargs or self.compute_loss_func is not None)) "
    f"and _loss_path.is_mean({_ID!r}, self, loss, num_items_in_batch))"
)
# DeepSpeed's engine divides in its own backward pass; so does Accelerate, if its launcher got the number.
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
        {_IMPORT}
        is_mean = {_IS_MEAN}
        loss *= self.args.gradient_accumulation_steps / (_loss_path.micro_batches(self) if is_mean else 1)
        """,
        f"""
        {_IMPORT}
        is_mean = {_IS_MEAN}
        steps = _loss_path.micro_batches(self) if is_mean else self.args.gradient_accumulation_steps
        share = loss / steps if is_mean or num_items_in_batch is None else loss
        loss = share if is_mean and not ({IS_DIVIDED_LATER}) else loss
        self.accelerator.backward(loss, **kwargs)
        return share.detach()
        """,
    ),
)
