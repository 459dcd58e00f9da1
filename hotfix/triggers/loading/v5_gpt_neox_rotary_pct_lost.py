"""A configuration that says how much of a head is rotated, and not a quarter."""

from __future__ import annotations

from typing import Optional

from hotfix.trigger import Call, Files, Trigger

TRIGGER = Trigger(
    "v5-gpt-neox-rotary-pct-lost",
    when="rope_parameters of a configuration have another partial_rotary_factor than 0.25",
    wrong="a quarter of each head is rotated, whatever the configuration says",
)


@TRIGGER.strikes()
def says_otherwise(call: Call) -> bool:
    """What is written over it is another number."""
    parameters = call.get("rope_scaling") or getattr(call.owner, "rope_parameters", None) or {}
    factor = parameters.get("partial_rotary_factor")
    return factor is not None and factor != call.get("rotary_pct", 0.25)


@TRIGGER.in_files
def is_saved(run: Files) -> Optional[bool]:
    """What config.json says is written over when it is read again; what it has said before is not known."""
    said = run.setting("rope_parameters")
    factor = said.get("partial_rotary_factor") if isinstance(said, dict) else None
    return True if factor is not None and factor != (run.setting("rotary_pct") or 0.25) else None
