"""Code that looks for ``past_key_values`` among the prepared inputs, in a step with a cache."""

from __future__ import annotations

import sys

from hotfix.names.prepared_inputs_without_past_key_values import NEW, caller_of, is_peft, older_name_in
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "prepared-inputs-without-past-key-values",
    when="code of the program's, or PEFT's prompt learning, looks for past_key_values among the prepared inputs",
    wrong="each step is taken for the first one, or a prefix is lost",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes("transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation")
def finds_no_past(call: Call) -> bool:
    """It gets a cache, and returns it to such code."""
    if call[NEW] is None:
        return False
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") != "transformers.generation.utils":
        frame = frame.f_back
    caller = caller_of(frame.f_back)  # of the function itself
    if caller is None or older_name_in(caller.f_code, is_peft(caller)) is None:
        return False
    settings = getattr(caller.f_locals.get("self"), "active_peft_config", None)
    if settings is not None:
        return bool(settings.is_prompt_learning)  # PEFT's other methods do not need it
    return bool(call[NEW].get_seq_length())  # an empty one is taken for none
