"""A checkpoint whose names the release does not convert, though it converts them for the class that is extended."""

from __future__ import annotations

from hotfix.loading.v5_subclass_weights_not_converted import with_inherited
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "v5-subclass-weights-not-converted",
    when="a subclass of one of the library's models is loaded from a checkpoint with other names",
    wrong="weights of the checkpoint are ignored, and those of the model are random",
)


@TRIGGER.strikes()
def is_loaded(call: Call) -> bool:
    """The names and shapes in the checkpoint decide, and nothing of the model is changed."""
    own = call["load_config"].weight_mapping or []
    return with_inherited(call["model"], call["state_dict"], own) is not own
