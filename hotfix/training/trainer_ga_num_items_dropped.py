"""The Trainer does not tell the models that normalise their loss how many labels a step has.

Symptom   Silent. With ``gradient_accumulation_steps=N`` loss and gradients of all causal language models, and of every
          other model whose forward takes ``**kwargs``, are about N times too large. They are N times too large where
          all micro-batches have equally many labels; where not, short ones weigh as much as long ones besides.
Cause     A condition is the wrong way round: ``num_items_in_batch`` goes to the models that cannot use it. The others,
          and ``compute_loss_func``, take the mean over the micro-batch, and the Trainer does not divide it, since the
          number of labels is known to it.
Releases  4.47.0 and 4.48.0. 4.47.1 was right, the change came back with the next minor release.
Upstream  transformers#35121 (fixed in 4.47.1), transformers#35651 (fixed in 4.48.1)
Here      The number goes to these models where the result depends on it: with several micro-batches, with
          ``average_tokens_across_devices`` and for ``compute_loss_func``. There it is equal to 4.47.1 and 4.48.1.
          Otherwise their mean is right, and exact. Under DeepSpeed, whose engine divides once more in these releases
          (deepspeed-double-gas-scaling), the mean gives the right gradients as well, and nothing is changed; nor is
          it for models composed of an encoder and a decoder, which hand the number to an encoder that refuses it. An
          override of ``compute_loss`` that was written before 4.46 and does not take the number is called without it,
          and its mean is divided by the micro-batches, as 4.45.2 did.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.training import _old_overrides
from hotfix.training.trainer_ga_multiplied_loss import IS_DIVIDED_LATER

FIX = Fix(
    id="trainer-ga-num-items-dropped",
    title="Loss and gradients are gradient_accumulation_steps times too large for models that take loss arguments",
    kind="silent",
    upstream=("transformers#35121", "transformers#35651"),
    fixed_in="4.47.1, 4.48.1",
)

# When the number is kept from a model that takes it, as it always is in these releases.
_DEPENDS_ON_IT = (
    "self.args.gradient_accumulation_steps > 1 or self.args.average_tokens_across_devices "
    "or self.compute_loss_func is not None"
)
_IS_COMPOSED = "str(getattr(getattr(self.model, 'config', None), 'model_type', '')).endswith('encoder-decoder')"

FIX.edits(
    ("transformers.trainer:Trainer.training_step", ">=4.47.0,<=4.48.0,!=4.47.1"),
    old="""
        if self.model_accepts_loss_kwargs:
            loss = self.compute_loss(model, inputs)
        else:
            loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
    """,
    new=f"""
        from {_old_overrides.__name__} import without_the_number
        if self.model_accepts_loss_kwargs and (not ({_DEPENDS_ON_IT}) or {IS_DIVIDED_LATER} or {_IS_COMPOSED}):
            loss = self.compute_loss(model, inputs)
        elif self.model_accepts_loss_kwargs and without_the_number(self.compute_loss):
            loss = self.compute_loss(model, inputs) / self.args.gradient_accumulation_steps
        else:
            loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
    """,
)
