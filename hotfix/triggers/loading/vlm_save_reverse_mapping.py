"""A vision-language model is saved whose weights have other names on the Hub."""

from __future__ import annotations

import re
import sys

from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "vlm-save-reverse-mapping",
    when="a vision-language model is saved whose weights have other names on the Hub",
    wrong="weights are saved under names that vLLM, llama.cpp and releases before 4.52 do not find",
)


@TRIGGER.strikes()
def has_other_names(call: Call) -> bool:
    """Whether the release maps the names of this class to those of the Hub, and some differ; not for an adapter."""
    model = call.owner
    if getattr(model, "_hf_peft_config_loaded", False):
        return False
    families = sys.modules["transformers.modeling_utils"].VLMS
    if not any(name in type(model).__name__.lower() for name in families):
        return False
    patterns = list(model._checkpoint_conversion_mapping.values())
    return any(re.search(pattern, name) for name, _ in model.named_parameters() for pattern in patterns)
