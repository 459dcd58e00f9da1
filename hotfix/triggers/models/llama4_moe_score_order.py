"""More than one token."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "llama4-moe-score-order",
    when="there is more than one token",
    wrong="experts get the routing scores of other tokens, and the output is garbage",
)


@TRIGGER.strikes()
def has_several_tokens(call: Call) -> bool:
    """Several tokens, and several experts."""
    *tokens, _ = call["hidden_states"].shape
    several = any(count > 1 for count in tokens)
    return several and call.owner.num_experts > 1


@TRIGGER.in_files
def has_learned_from_texts(run: Files) -> Optional[bool]:
    """Several experts, in a model that was trained: texts have more than one token."""
    experts = run.setting("num_local_experts")
    if experts == 1:
        return False
    return True if run.by_trainer and isinstance(experts, int) and experts > 1 else None
