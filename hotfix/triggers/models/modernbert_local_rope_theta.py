"""A local layer, where the two bases are not one."""

from __future__ import annotations

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "modernbert-local-rope-theta",
    when="a ModernBERT is made whose local layers have another rotary base than the global ones",
    wrong="local layers rotate with the base of the global ones",
)


@TRIGGER.strikes()
def has_a_base_of_its_own(call: Call) -> bool:
    """Layers are global at regular intervals; with flash attention the constructor raises."""
    config = call["config"]
    is_local = call["layer_id"] % config.global_attn_every_n_layers != 0
    return is_local and config.local_rope_theta not in (None, config.global_rope_theta)
