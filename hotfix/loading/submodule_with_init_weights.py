"""Models with a part that initializes itself, and is no model, cannot be built.

Symptom   ``AttributeError: 'Resampler' object has no attribute '_initialize_weights'`` from ``from_pretrained`` of
          MiniCPM-V and other remote code with a layer that has a method ``_init_weights``.
Cause     Every module with such a method was taken for a model of the library.
Releases  4.52.1 to 4.52.4
Upstream  ComfyUI-MiniCPM#13 (fixed in 4.53.0)
Here      A module without ``_initialize_weights`` is initialized by the model around it. Equal to 4.53.0.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="AttributeError: 'Resampler' object has no attribute '_initialize_weights'",
    kind="crash",
    upstream=("ComfyUI-MiniCPM#13",),
    fixed_in="4.53.0",
    errors=("AttributeError: '…' object has no attribute '_initialize_weights'",),
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.initialize_weights", ">=4.52.1,<4.53.0"),
    when=f"from {__name__} import has_such_a_part; has_such_a_part(self)",
    beside="""hasattr(module, "_init_weights")""",
    old="self.smart_apply(self._initialize_weights)",
    new=f"""
        from {__name__} import initialise
        initialise(self)
        """,
)


def has_such_a_part(model: Any) -> bool:
    """Whether a part of a model has only one of the two methods, and the program would crash at that."""
    if not any(map(_only_looks_like_a_model, model.modules())) or any(map(_walks_by_itself, model.modules())):
        return False
    return not scope.is_handled_around(FIX.id, AttributeError)


def initialise(model: Any) -> None:
    """Initialize each module by the nearest model that it is in, children first."""
    waiting = [(model, model, False)]
    while waiting:
        module, owner, is_next = waiting.pop()
        if is_next:
            owner._initialize_weights(module)
            continue
        waiting.append((module, owner, True))
        for child in reversed(list(module.children())):
            takes_itself = hasattr(child, "_init_weights") and not _only_looks_like_a_model(child)
            waiting.append((child, child if takes_itself else owner, False))


def _walks_by_itself(module: Any) -> bool:
    """Whether a class of the program's decides which of its parts are initialized."""
    owner = next((kind for kind in type(module).__mro__ if "smart_apply" in vars(kind)), None)
    return owner is not None and owner.__module__ != "torch.nn.modules.module"


def _only_looks_like_a_model(module: Any) -> bool:
    return hasattr(module, "_init_weights") and not hasattr(module, "_initialize_weights")
