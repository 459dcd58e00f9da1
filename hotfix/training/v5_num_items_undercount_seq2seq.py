"""The Trainer leaves out the first label of each text of an encoder-decoder, where every label is predicted.

Symptom   Silent. Loss and gradients of encoder-decoders are too large by one label a text: 8/6 of the right ones for
          two texts of four labels. It matters for short ones: answers, classes that are written out, commands.
Cause     Since 5.10.1 ``num_items_in_batch`` leaves out the first label of each row where the loss moves the labels.
          Encoder-decoders have the same loss by name, and their labels are aligned with their logits.
Releases  5.10.1 to 5.14.1
Upstream  transformers#46903 (fixed in 5.15.0)
Here      All labels of an encoder-decoder of the library are counted. Equal to 5.15.0. One with a forward of the
          user's may move its labels: it is counted as before, and so are a ``training_step``, a ``compute_loss``, a
          ``compute_loss_func`` and a ``loss_function`` that leave the first label out (``labels[..., 1:]``,
          ``labels[:, 0] = -100``, ``narrow``), or call such a function. The same holds where one of the first three
          corrects the number (``num_items_in_batch + rows``), and where a hook changes the output of the model.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.training import _labels, _loss_path, _passed_on

FIX = Fix(
    title="Loss and gradients of encoder-decoders are too large: the first label of each text is not counted",
    kind="silent",
    upstream=("transformers#46903",),
    fixed_in="5.15.0",
    everyone="only for encoder-decoders with the library's forward: the new code tests it itself",
)

FIX.edits(
    ("transformers.trainer:Trainer._get_num_items_in_batch", ">=5.10.1,<=5.14.1"),
    fingerprint_of=("Trainer._get_num_items_in_batch", "Trainer.__init__"),
    beside="""
        self._loss_shifts_labels = LOSS_MAPPING.get(getattr(model_to_inspect, "loss_type", None)) is ForCausalLMLoss
    """,
    old="""
        labels_for_count = [
            batch["shift_labels"] if "shift_labels" in batch
            else batch["labels"][..., 1:] if self._loss_shifts_labels
            else batch["labels"]
            for batch in batch_samples
        ]
    """,
    new="""
        from hotfix.training.v5_num_items_undercount_seq2seq import leaves_out_the_first
        labels_for_count = [
            batch["shift_labels"] if "shift_labels" in batch
            else batch["labels"][..., 1:] if leaves_out_the_first(self)
            else batch["labels"]
            for batch in batch_samples
        ]
    """,
)


def leaves_out_the_first(trainer: Any) -> bool:
    """Whether the first label of each text does not count, for the loss of a Trainer.

    Args:
        trainer: of the step; ``_loss_shifts_labels`` is what the release says.
    """
    if not trainer._loss_shifts_labels:
        return False
    try:
        return not _predicts_the_first(trainer)
    except Exception as error:  # such as of a descriptor in a user's class
        return not scope.undecided(FIX.id, error)


def _predicts_the_first(trainer: Any) -> bool:
    model = _loss_path.model_of(trainer)
    return (
        getattr(getattr(model, "config", None), "is_encoder_decoder", False)
        and _passed_on.is_library_path(FIX.id, model, "forward")
        and _passed_on.is_output_passed_on(FIX.id, model)
        and not _labels.may_move_labels(_passed_on.loss_function_of(model))
        and not any(
            _labels.counts_by_itself(getattr(trainer, name, None), trainer)
            for name in ("compute_loss_func", "compute_loss", "training_step")
        )
    )
