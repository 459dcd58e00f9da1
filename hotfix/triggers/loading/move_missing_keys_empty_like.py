"""A tensor of a custom model or module that no file has, and of which ``_init_weights`` does not know."""

from __future__ import annotations

from typing import Optional

from hotfix.loading.move_missing_keys_empty_like import ALLOCATES, INITIALIZES, MODEL, is_of_the_library, tensors_of
from hotfix.trigger import Call, Trigger

TRIGGER = Trigger(
    "move-missing-keys-empty-like",
    when="the constructor of a model or of a module outside of the library computes what the checkpoint does not have",
    wrong="the tensor is what the memory held before",
    while_repaired=False,  # the function is wrapped then
)


@TRIGGER.strikes(*(path for path, _ in ALLOCATES))
def is_lost(call: Call) -> Optional[bool]:
    """``_init_weights`` of the class may set it; whether it does is unknown where it has the name of the tensor."""
    model = call.owner
    missing = set(call.get("missing_keys", ()))
    unsaved = {
        f"{path}.{name}".lstrip(".")
        for path, part in model.named_modules()
        for name in part._non_persistent_buffers_set
    }
    replaces_all = call.target.endswith("device")  # those that were on the CPU, too
    held = [held for held in tensors_of(model) if held.name in missing | unsaved]
    lost = [each.name for each in held if each.tensor.is_meta or replaces_all]
    names = [name.rpartition(".")[2] for name in lost]
    if not names:
        return False
    if is_of_the_library(type(model)):  # it sets the frequencies of what looks like its own rotary embeddings
        owners = [model.get_submodule(name.rpartition(".")[0]) for name in lost]
        return None if any(hasattr(owner, "original_inv_freq") for owner in owners) else True
    code = getattr(type(model)._init_weights, "__code__", None)
    if code is None or set(names) <= {*code.co_names, *code.co_consts}:
        return None
    return True


@TRIGGER.strikes(f"{MODEL}.from_pretrained", INITIALIZES)
def is_seen_before(call: Call) -> bool:
    """The function that allocates the buffers says whether they are lost."""
    return False
