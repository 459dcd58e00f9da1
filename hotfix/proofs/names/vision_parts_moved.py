"""The proof: the parts are read at their old place, on models without weights."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.vision_parts_moved import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: '.*' object has no attribute '", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Whether each is the part of the inner model, which the release makes under this name."""
    module = import_module(target.module)
    owner, _, part = target.qualname.partition(".")
    inner_name = owner.replace("ForConditionalGeneration", "Model")
    model: Any = _empty(getattr(module, owner))
    place = "model" if inner_name != owner else "language_model"
    holder = torch.nn.Module()
    setattr(holder, part, torch.nn.Linear(2, 3))
    if place == "model":
        assert part in getattr(module, inner_name).__init__.__code__.co_names, "the release makes it"
        setattr(model, place, holder)
    elif place in vars(module)[owner].__init__.__code__.co_names:
        setattr(model, place, holder)
    else:  # it was the language model itself
        setattr(model, part, getattr(holder, part))
    return {"same": torch.tensor(_part(model, part) is getattr(holder, part))}


def _empty(cls: Any) -> Any:
    model = cls.__new__(cls)
    torch.nn.Module.__init__(model)
    return model


def _part(model: Any, name: str) -> Any:
    namespace: dict[str, Any] = {"model": model}
    exec(f"part = model.{name}", namespace)
    return namespace["part"]
