"""More than one token."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "llama4-moe-score-order",
    when="there is more than one token",
    wrong="experts get the routing scores of other tokens, and the output is garbage",
)


@TRIGGER.strikes()
def has_several_tokens(call: Call) -> bool:
    """Several tokens, and several experts."""
    *tokens, _ = call["hidden_states"].shape
    several = any(one > 1 for one in tokens)
    return several and call.owner.num_experts > 1
