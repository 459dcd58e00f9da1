"""A token whose angles are rounded to half precision, under autocast: any but the first."""

from __future__ import annotations

from typing import Any, Optional

from hotfix.trigger import Call, Files, Trigger
from hotfix.triggers import _files

TRIGGER = Trigger(
    "llama-gemma-rope-autocast",
    when="a text has more than one token, under autocast",
    wrong="its angles are rounded, and from position 256 on tokens next to each other have the same",
)


@TRIGGER.strikes()
def is_rounded(call: Call) -> Any:
    """A truth value, as a tensor, where autocast is on."""
    return (call["position_ids"] > 0).any() if _is_mixed(call["x"].device.type) else False


def _is_mixed(device: str) -> bool:
    import torch

    try:
        return bool(torch.is_autocast_enabled(device))
    except TypeError:  # before torch 2.4 it takes no device
        return bool(torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled())


@TRIGGER.in_files
def may_have_been_rounded(run: Files) -> Optional[bool]:
    """Files do not tell of autocast."""
    return False if _files.is_of_the_library(run) and run.model_types.isdisjoint(("llama", "gemma")) else None
