"""The Trainer counts the first label of each text, which is never predicted, and the loss is divided by that number.

Symptom   Silent. Loss and gradients of causal language models are too small by one label a text, with
          ``labels=input_ids`` as in pretraining: 9/10 of the right ones for texts of ten tokens, 7/8 for eight. Texts
          whose beginning is masked (a prompt, padding on the left) come out right.
Cause     ``num_items_in_batch`` is the number of all labels that are not masked. The loss of a causal language model
          moves the labels by one: the first of each row has nothing before it that could predict it.
Releases  4.46.2 to 5.9.0
Upstream  transformers#46204 (fixed in 5.10.1)
Here      The Trainer counts what the loss takes: all labels but the first of each row where the loss moves them, all
          of them elsewhere, ``shift_labels`` where the batch brings them and the loss takes them. Equal to 5.10.1, with
          two exceptions. Models whose class upstream does not know by its name (`GPT2LMHeadModel`) move their labels as
          well, and are counted so; and in encoder-decoders each label is predicted: 5.10.1 leaves their first ones out
          (v5-num-items-undercount-seq2seq).
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix

if TYPE_CHECKING:
    from collections.abc import Mapping

FIX = Fix(
    id="num-items-off-by-one",
    title="Loss and gradients are too small: the first label of each text is counted, and is never predicted",
    kind="silent",
    upstream=("transformers#46204",),
    fixed_in="5.10.1",
    order=1,
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
    moved = _moves_labels(trainer)
    if moved and "shift_labels" in batch and "shift_labels" in inspect.signature(moved).parameters:
        return batch["shift_labels"]
    return labels[..., 1:] if moved else labels


def _moves_labels(trainer: Any) -> Any:
    """The loss of the Trainer's model if it moves the labels by one, else None."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    model = model.get_base_model() if hasattr(model, "get_base_model") else model  # PEFT
    model = getattr(model, "_orig_mod", model)  # torch.compile
    # The model has imported both, if it is one of the library.
    losses = sys.modules.get("transformers.loss.loss_utils")
    names = sys.modules.get("transformers.models.auto.modeling_auto")
    config = getattr(model, "config", None)
    if losses is None or names is None or config is None or getattr(config, "is_encoder_decoder", False):
        return None
    kind = getattr(model, "loss_type", None) or getattr(config, "loss_type", None) or type(model).__name__
    known = [kind] if kind in losses.LOSS_MAPPING else re.findall("|".join(losses.LOSS_MAPPING), kind)
    if known:
        moves = losses.LOSS_MAPPING[known[0]] is losses.ForCausalLMLoss
    elif kind in names.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        moves = True
    else:  # of a model that is not known by its name, the loss of a causal language model is the default
        moves = trainer.compute_loss_func is None and getattr(model, "loss_function", None) is losses.ForCausalLMLoss
    return losses.ForCausalLMLoss if moves else None
