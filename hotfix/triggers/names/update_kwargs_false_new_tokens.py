"""``False`` in the place of the number of new tokens."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "update-kwargs-false-new-tokens",
    when="an override passes False by position where the number of new tokens is",
    wrong="the mask and the positions stay where they were, and the model writes nonsense",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes()
def is_no_number(call: Call) -> bool:
    """The argument shows it."""
    return call["num_new_tokens"] is False
