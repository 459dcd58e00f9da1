"""A subclass of a class whose names are mapped."""

from __future__ import annotations

import sys
from typing import Any

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "vlm-key-mapping-subclass",
    when="a subclass of a vision-language model from outside of transformers is loaded",
    wrong="it is loaded with random weights",
)


@TRIGGER.strikes()
def is_loaded(call: Call) -> bool:
    """A mapping that the caller gives is taken in either case."""
    return "key_mapping" not in call and _is_missed(call.owner)


def _is_missed(cls: Any) -> bool:
    """Whether names are to be mapped for what a class extends, and its own name does not tell."""
    if not cls._checkpoint_conversion_mapping:
        return False
    families = sys.modules["transformers.modeling_utils"].VLMS
    own, *others = (any(name in base.__name__.lower() for name in families) for base in cls.__mro__)
    return any(others) and not own
