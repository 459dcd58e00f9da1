"""Newer peft cannot be imported: ``transformers.modeling_layers`` is missing.

Symptom   ``ModuleNotFoundError: No module named 'transformers.modeling_layers'`` from peft 0.18 and later.
Cause     peft asks of a layer whether it checkpoints itself, by a class of later releases.
Releases  4.36.0 to 4.51.3
Upstream  the module came with 4.52.1
Here      A module with that one class, which does what it did in 4.52.1. No layer of these releases inherits from it,
          so that what peft asks has the right answer.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="ModuleNotFoundError: No module named 'transformers.modeling_layers'",
    kind="removed-api",
    fixed_in="4.52.1",
    group="removed-names",
    errors=("ModuleNotFoundError: No module named 'transformers.modeling_layers'",),
)


@FIX.adds_made(("transformers:modeling_layers", ">=4.36.0,<=4.51.3"))
def modeling_layers(transformers: Any) -> Any:
    """The module. It imports torch when it is first asked for the class."""
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    module = ModuleType("transformers.modeling_layers", "The class of later releases that other packages import.")
    module.__spec__ = ModuleSpec(module.__name__, None, origin="hotfix")
    module.__package__ = "transformers"

    def ask(name: str) -> Any:
        if name != "GradientCheckpointingLayer":
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        vars(module)[name] = _layer(module.__name__)
        return vars(module)[name]

    vars(module).update(__getattr__=ask, __all__=["GradientCheckpointingLayer"])
    return module


def _layer(home: str) -> type:
    from functools import partial

    from torch import nn

    class GradientCheckpointingLayer(nn.Module):  # type: ignore[misc,unused-ignore]
        """A layer that is computed a second time in the backward pass, where its model says so.

        Attributes:
            gradient_checkpointing: whether the model says so; it sets ``_gradient_checkpointing_func`` then.
        """

        gradient_checkpointing = False

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Inputs that need gradients have to be positional."""
            call = super().__call__
            if not (self.gradient_checkpointing and self.training):
                return call(*args, **kwargs)
            again: Any = self._gradient_checkpointing_func
            return again(partial(call, **kwargs), *args)

    GradientCheckpointingLayer.__module__ = home
    GradientCheckpointingLayer.__qualname__ = "GradientCheckpointingLayer"
    return GradientCheckpointingLayer
