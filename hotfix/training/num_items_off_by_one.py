"""The Trainer counts the first label of each text, which is never predicted, and the loss is divided by that number.

Symptom   Silent. Loss and gradients of causal language models are too small by one label a text, with
          ``labels=input_ids`` as in pretraining: 9/10 of the right ones for texts of ten tokens, 7/8 for eight. Texts
          whose beginning is masked (a prompt, padding on the left) come out right.
Cause     ``num_items_in_batch`` is the number of all labels that are not masked. The loss of a causal language model
          moves the labels by one: the first of each row has nothing before it that could predict it.
Releases  4.46.2 to 5.9.0
Upstream  transformers#46204 (fixed in 5.10.1)
Here      The Trainer counts the labels that the loss takes: all but the first of each row where the loss moves them,
          all of them elsewhere, ``shift_labels`` where the batch brings them and the loss takes them. Equal to 5.10.1,
          with three exceptions. Models whose class upstream does not know by its name (`GPT2LMHeadModel`) move their
          labels as well, and are counted so. In encoder-decoders each label is predicted: 5.10.1 leaves their first
          ones out (v5-num-items-undercount-seq2seq). A prompt that PEFT trains, or that a forward of the user's puts in
          front of the labels, predicts the first label: all are counted. And where a model, a ``training_step``, a
          ``compute_loss``, a ``compute_loss_func`` or a ``loss_function`` of the user's divides by the number, all
          labels are counted, as in stock, unless it calls the library's loss, or has slices ``labels[..., 1:]`` and
          ``logits[..., :-1, :]`` for a model whose labels the library moves. The same holds where a
          ``get_batch_samples`` of the user's changes the number, or a forward passes on labels or embeddings that it
          has made, where code of the user's passes on ``shift_labels``, where a hook changes the output, and where the
          number is dropped, so that no loss is divided by it.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.training import _labels, _loss_path, _passed_on, _user_code

if TYPE_CHECKING:
    from collections.abc import Mapping

FIX = Fix(
    title="Loss and gradients are too small: the first label of each text is counted, and is never predicted",
    kind="silent",
    upstream=("transformers#46204",),
    fixed_in="5.10.1",
    order=1,
    everyone="only where the loss that the number divides is seen to move the labels: the new code tests it itself",
)

_COUNTED = "from hotfix.training.num_items_off_by_one import counted"

FIX.edits(
    ("transformers.trainer:Trainer.get_batch_samples", ">=4.46.2,<=4.56.2"),
    ("transformers.trainer:Trainer._get_num_items_in_batch", ">=4.57.1,<=5.9.0"),
    alternatives=True,
    old=(
        'num_items_in_batch = sum([(batch["labels"].ne(-100)).sum() for batch in batch_samples])',
        'num_items_in_batch = sum((batch["labels"].ne(-100)).sum() for batch in batch_samples)',
    ),
    new=(
        f"{_COUNTED}\nnum_items_in_batch = sum(counted(self, batch).ne(-100).sum() for batch in batch_samples)",
        f"{_COUNTED}\nnum_items_in_batch = sum(counted(self, batch).ne(-100).sum() for batch in batch_samples)",
    ),
)


def counted(trainer: Any, batch: Mapping[str, Any]) -> Any:
    """The labels of a batch that the loss of a model may predict.

    Args:
        trainer: of the step.
        batch: with ``labels``, int64 of shape ``(batch, tokens)`` for a language model.

    Returns:
        ``labels``, or all of them but the first of each row, or ``shift_labels``. Those that are -100 do not count.
    """
    labels = batch["labels"]
    if labels.ndim < 2 or getattr(labels, "is_nested", False):  # a class for each text; not to be cut
        return labels
    try:
        moved = _moves_labels(trainer)
    except Exception as error:  # such as of a descriptor; the Trainer takes it for labels that cannot be counted
        moved = scope.undecided(FIX.id, error)
    if moved and "shift_labels" in batch and "shift_labels" in inspect.signature(moved).parameters:
        return batch["shift_labels"]
    return labels[..., 1:] if moved else labels


def _moves_labels(trainer: Any) -> Any:
    """The loss of the Trainer's model if it moves the labels by one and is the loss that the number divides."""
    # The model has imported both, if it is one of the library.
    losses = sys.modules.get("transformers.loss.loss_utils")
    mapping = sys.modules.get("transformers.models.auto.modeling_auto")
    if losses is None or mapping is None:
        return None
    for name in ("get_batch_samples", "_get_num_items_in_batch"):
        if hasattr(trainer, name) and not _passed_on.is_number_as_counted(FIX.id, trainer, name):
            return None
    divides = getattr(losses, "fixed_cross_entropy", None)
    if divides is not None and not scope.is_own(FIX.id, divides):
        return None
    if _has_a_prefix(trainer) or _makes_up_for_it(trainer) or _names_shifted_labels(trainer):
        return None
    model = _loss_path.model_of(trainer)
    function = trainer.compute_loss_func
    if function is not None:
        moves = _is_causal(function, losses) or _own_moves_labels(function, model, losses)
        return losses.ForCausalLMLoss if moves or scope.leave_alone(FIX.id, "compute_loss_func is your own") else None
    training_step = getattr(trainer, "training_step", None)
    if training_step is not None and not _passed_on.is_number_passed_on(FIX.id, trainer, "training_step"):
        return losses.ForCausalLMLoss if _own_moves_labels(training_step, model, losses) else None
    compute_loss = getattr(trainer, "compute_loss", None)
    if compute_loss is not None and not _passed_on.is_number_passed_on(FIX.id, trainer, "compute_loss"):
        return losses.ForCausalLMLoss if _own_moves_labels(compute_loss, model, losses) else None
    if any(_passed_on.is_number_dropped(trainer, name) for name in _OF_THE_LOSS):
        return None  # no loss is divided by it
    moves = _model_moves_labels(model, losses, mapping.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    return losses.ForCausalLMLoss if moves and _passed_on.is_output_passed_on(FIX.id, model) else None


def _has_a_prefix(trainer: Any) -> bool:
    """Whether something before the first label of each text predicts it, such as a trained prompt."""
    adapted = trainer.accelerator.unwrap_model(trainer.model)
    settings = getattr(getattr(adapted, "_orig_mod", adapted), "active_peft_config", None)
    if getattr(settings, "is_prompt_learning", False):  # of PEFT
        kind = getattr(settings, "peft_type", None)
        return getattr(kind, "value", kind) not in ("PREFIX_TUNING", "CARTRIDGE")  # these are in the cache
    model = _loss_path.model_of(trainer)
    for owner, name in ((model, "forward"), *((trainer, name) for name in (*_OF_THE_LOSS, "_prepare_inputs"))):
        function = getattr(owner, name, None)
        if _labels.may_extend_labels(function, owner) or _labels.replaces_labels(function, owner):
            scope.leave_alone(FIX.id, f"{type(owner).__qualname__}.{name} is your own, and adds to the labels")
            return True
    for hook in (getattr(model, "_forward_pre_hooks", None) or {}).values():
        if _labels.may_extend_labels(hook):
            scope.leave_alone(FIX.id, "a hook of your own adds to the labels")
            return True
    return False


_OF_THE_LOSS = ("compute_loss", "training_step")


def _names_shifted_labels(trainer: Any) -> bool:
    """Whether code of the user's passes on ``shift_labels``, in whose place all labels are predicted."""
    model = _loss_path.model_of(trainer)
    methods = (*_OF_THE_LOSS, "_prepare_inputs", "_prepare_input")
    for owner, name in ((model, "forward"), *((trainer, name) for name in methods)):
        if _labels.gives_shifted_labels(getattr(owner, name, None), owner):
            scope.leave_alone(FIX.id, f"{type(owner).__qualname__}.{name} is your own, and has shift_labels")
            return True
    for hook in (getattr(model, "_forward_pre_hooks", None) or {}).values():
        if _labels.gives_shifted_labels(hook):
            scope.leave_alone(FIX.id, "a hook of your own has shift_labels")
            return True
    return False


def _makes_up_for_it(trainer: Any) -> bool:
    """Whether the program corrects the number by itself."""
    model = _loss_path.model_of(trainer)
    for owner, name in (
        *((trainer, name) for name in ("compute_loss_func", "training_step", "compute_loss")),
        (model, "forward"),
    ):
        if _labels.may_adjust_the_number(getattr(owner, name, None), owner):
            scope.leave_alone(FIX.id, f"{type(owner).__qualname__}.{name} is your own, and corrects the number")
            return True
    return False


def _own_moves_labels(function: Any, model: Any, losses: Any) -> bool:
    """Whether a function of the user's moves the labels of a model, whose own loss may have to do so as well."""
    known = _passed_on.loss_type_of(model)
    moves = not known or losses.LOSS_MAPPING[known] is losses.ForCausalLMLoss
    return moves and _labels.moves_labels(function)


def _is_causal(function: Any, losses: Any) -> bool:
    """Whether a function is the library's loss of a causal language model, or that one with arguments bound."""
    return getattr(function, "func", function) is losses.ForCausalLMLoss


def _is_chosen(model: Any) -> bool:
    """Whether the program has set the loss of a model, or declares it in a class of its own."""
    own = [
        kind
        for kind in type(model).__mro__
        if not kind.__module__.startswith("torch.") and not scope.was_written_in("transformers", kind)
    ]
    spaces = [vars(model), *map(vars, own)]
    return any(space.get(name) is not None for space in spaces for name in ("_loss_function", "loss_function"))


def _model_moves_labels(model: Any, losses: Any, names: Mapping[str, str]) -> bool:
    config = getattr(model, "config", None)
    if config is None or getattr(config, "is_encoder_decoder", False):
        return False
    loss_function = _passed_on.loss_function_of(model)
    if not _passed_on.is_library_path(FIX.id, model, "forward"):  # a model of one's own
        calls_the_library = loss_function is losses.ForCausalLMLoss and _user_code.names(model.forward, "loss_function")
        return calls_the_library or _own_moves_labels(model.forward, model, losses)
    if loss_function is not None and not scope.is_own(FIX.id, loss_function):
        return _own_moves_labels(loss_function, model, losses)
    library = [kind.__name__ for kind in type(model).__mro__ if scope.was_written_in("transformers", kind)]
    name = next(iter(library), type(model).__name__)
    known = _passed_on.loss_type_of(model)
    if loss_function is not None and _is_chosen(model):  # another one of the library's
        return _is_causal(loss_function, losses)
    if known:
        return bool(losses.LOSS_MAPPING[known] is losses.ForCausalLMLoss)
    # Of a model that is not known by its name, the loss of a causal language model is the default.
    return name in names.values() or loss_function is losses.ForCausalLMLoss
