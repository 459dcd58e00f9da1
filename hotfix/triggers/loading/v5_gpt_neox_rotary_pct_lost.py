"""A configuration with another partial_rotary_factor than 0.25."""

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
    """Whether the value is overwritten by another number."""
    parameters = call.get("rope_scaling") or getattr(call.owner, "rope_parameters", None) or {}
    factor = parameters.get("partial_rotary_factor")
    return factor is not None and factor != call.get("rotary_pct", 0.25)


@TRIGGER.in_files
def is_saved(run: Files) -> Optional[bool]:
    """Reading the file overwrites its value; an earlier value is unknown."""
    said = run.setting("rope_parameters")
    factor = said.get("partial_rotary_factor") if isinstance(said, dict) else None
    return True if factor is not None and factor != (run.setting("rotary_pct") or 0.25) else None
