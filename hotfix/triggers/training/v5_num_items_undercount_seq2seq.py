"""An encoder-decoder predicts the first label of a text, and it is not counted."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers.training._swallowed import facts, is_number_used
from hotfix.triggers.training.num_items_off_by_one import begins_with_a_label

TRIGGER = Trigger(
    "v5-num-items-undercount-seq2seq",
    when="the model is an encoder-decoder that divides its loss by the number of labels",
    wrong="loss and gradients are too large by one label a text",
    while_repaired=False,
)


@TRIGGER.strikes("transformers.trainer:Trainer.training_step")
def leaves_the_first_out(call: Call) -> Any:
    """A text of an encoder-decoder begins with a label, and the loss is divided by how many others there are."""
    trainer, number = call.owner, call.get("num_items_in_batch")
    if not getattr(trainer, "_loss_shifts_labels", False) or not is_number_used(trainer, number):
        return False
    if not facts(trainer).is_encoder_decoder:
        return False
    return begins_with_a_label(call["inputs"])


@TRIGGER.in_files
def is_encoder_decoder(run: Files) -> Optional[bool]:
    """Only encoder-decoders; files do not tell which loss they had."""
    decoder_alone = bool(run.config) and not run.own_code and not run.setting("is_encoder_decoder")
    return False if decoder_alone else None
