"""The Trainer does not tell the models that normalize their loss how many labels a step has.

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
          it for models composed of an encoder and a decoder, which hand the number to an encoder that refuses it.
          Your own ``compute_loss`` is called without the number, as in stock, unless it returns what the
          library's returns, and so is a model whose forward does not know the number, refuses it, or scales the loss of
          the library. Such a loss is divided by the micro-batches if it is seen to be a mean that nobody has divided.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.training import _divided, _loss_path, _old_overrides, _passed_on, _scaling
from hotfix.training.trainer_ga_multiplied_loss import IS_DIVIDED_LATER

FIX = Fix(
    title="Loss and gradients are gradient_accumulation_steps times too large for models that take loss arguments",
    kind="silent",
    upstream=("transformers#35121", "transformers#35651"),
    fixed_in="4.47.1, 4.48.1",
    everyone="only models that return the library's loss get the number: the new code tests it itself",
)

FIX.edits(
    ("transformers.trainer:Trainer.training_step", ">=4.47.0,<=4.48.0,!=4.47.1"),
    old="""
        if self.model_accepts_loss_kwargs:
            loss = self.compute_loss(model, inputs)
        else:
            loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
    """,
    new=f"""
        if self.model_accepts_loss_kwargs:
            from {__name__} import loss_of
            loss = loss_of(self, model, inputs, num_items_in_batch, {IS_DIVIDED_LATER})
        else:
            loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
    """,
)


def loss_of(trainer: Any, model: Any, inputs: Any, number: Any, is_divided_later: bool) -> Any:
    """The loss of a micro-batch, of a model that takes loss arguments.

    Args:
        trainer: of the step.
        model: what it calls.
        inputs: of the model; as in stock, labels are taken out of it where a function computes the loss.
        number: of labels in the step, which the release keeps back; None where there are no labels.
        is_divided_later: whether DeepSpeed or Accelerate divides by the number of micro-batches.
    """
    if number is None or is_divided_later:
        return trainer.compute_loss(model, inputs)
    steps = trainer.args.gradient_accumulation_steps
    try:
        is_left_alone = _is_composed(trainer) or _scaling.is_gradient_scaled(FIX.id, trainer)
        is_given = steps > 1 or trainer.args.average_tokens_across_devices
        takes_it = is_given and not is_left_alone and _takes_the_number(trainer)
    except Exception as error:  # such as of a user's object that takes part
        scope.undecided(FIX.id, error)
        return trainer.compute_loss(model, inputs)
    if is_left_alone or (not is_given and trainer.compute_loss_func is None):
        return trainer.compute_loss(model, inputs)
    if takes_it:
        labels = inputs.get("labels")
        try:
            return trainer.compute_loss(model, inputs, num_items_in_batch=number)
        except TypeError as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            if "num_items_in_batch" not in str(_hotfix_error):
                raise
        if labels is not None:
            inputs["labels"] = labels
    loss = _without(trainer, model, inputs, number)
    if steps <= 1 or not _loss_path.is_mean(FIX.id, trainer, loss, None):
        return loss
    return loss / _loss_path.micro_batches(trainer)


def _is_composed(trainer: Any) -> bool:
    """Whether a model passes the number to an encoder that rejects it."""
    config = getattr(trainer.model, "config", None)
    return str(getattr(config, "model_type", "")).endswith("encoder-decoder")


def _takes_the_number(trainer: Any) -> bool:
    """Whether the loss is the library's, with a model that knows what to do with the number."""
    if _old_overrides.without_the_number(_old_overrides.method_of(trainer, "compute_loss")):
        return False
    if not _passed_on.is_library_path(FIX.id, trainer, "compute_loss"):
        return False
    model = _loss_path.model_of(trainer)
    if not _passed_on.is_given_the_number(FIX.id, model) or not _passed_on.is_output_passed_on(FIX.id, model):
        return False
    if _divided.scales_its_loss(FIX.id, model):
        return False
    return _passed_on.is_library_loss(FIX.id, model) or _passed_on.is_number_named(_passed_on.loss_function_of(model))


def _without(trainer: Any, model: Any, inputs: Any, number: Any) -> Any:
    """The loss without the number, as in stock; with it for user code for which stock raises an error."""
    labels = inputs.get("labels")
    try:
        return trainer.compute_loss(model, inputs)
    except TypeError as _hotfix_error:
        if "NoneType" not in str(_hotfix_error) or _old_overrides.without_the_number(trainer.compute_loss):
            raise
        if scope.is_handled_around(FIX.id, TypeError):
            raise
    if labels is not None:
        inputs["labels"] = labels
    return trainer.compute_loss(model, inputs, num_items_in_batch=number)
