"""Adapters in a vision tower get no gradient under gradient checkpointing, and stay as they were made.

Symptom   Silent, but for a warning of torch's: ``None of the inputs have requires_grad=True. Gradients will be None``.
          LoRA with modules of the vision tower among its targets and ``gradient_checkpointing=True`` (reentrant, the
          default of most releases) trains the text model alone: Qwen2-VL, LLaVA, Gemma 3, InternVL.
Cause     A checkpointed block passes a gradient on only where its input wants one. ``enable_input_require_grads`` sees
          to that for the embeddings of the text, and for nothing else.
Releases  4.36.0 to 4.57.6. Idefics 2, Idefics 3 and SmolVLM see to it themselves.
Upstream  peft#2880, transformers#41993 (fixed in 5.0.0)
Here      The patch embedding of each inner model gets a hook as well, as in 5.0.0: the result of
          ``get_input_embeddings``, or, if a class has none, a module under one of the names that 5.0.0 knows. A tower
          is left as it is, and costs what it did, if it is not checkpointed, if nothing is trained in its checkpoints
          (but perhaps a projector behind them), if they are not reentrant and so pass gradients on anyway, or if the
          program has a hook of its own there. No number of a forward changes. The tower gets a copy, which may be
          written into, as by the depth decoder of CSM, for which 5.0.0 raises. From 4.53.0 on, the encoder of Whisper
          and the towers of Mllama and Idefics stay as they are: later layers get their states by keyword, and a
          reentrant checkpoint fails if those want a gradient.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

FIX = Fix(
    title="Adapters in a vision tower get no gradient under gradient checkpointing",
    kind="silent",
    upstream=("peft#2880", "transformers#41993"),
    fixed_in="5.0.0",
    prefilter="_require_grads_hook = ",
    everyone="only where something in a checkpointed part is trained: the hook tests it itself",
    exempt={
        f"transformers.models.{name.lower()}.modeling_{name.lower()}:{name}{kind}.enable_input_require_grads": (
            "It sees to the vision tower itself."
        )
        for name, kind in (
            ("Idefics2", "Model"),
            ("Idefics2", "ForConditionalGeneration"),
            ("Idefics3", "Model"),
            ("Idefics3", "ForConditionalGeneration"),
            ("SmolVLM", "Model"),
            ("SmolVLM", "ForConditionalGeneration"),
        )
    },
)

# Names of the patch embedding in classes without `get_input_embeddings`.
_PATCHES = ("patch_embed", "patch_embedding", "patch_embeddings", "patch_conv")


@FIX.wraps(("transformers.modeling_utils:PreTrainedModel.enable_input_require_grads", ">=4.36.0,<=4.57.6"))
def of_all_parts(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The hook of the text, and one for each other part that has an input of its own."""

    def enable_input_require_grads(self: Any) -> Any:
        result = original(self)
        hooks, seen = [self._require_grads_hook], {id(self.get_input_embeddings())}
        for part in parts_of(self):
            embeddings = embeddings_of(part)
            if embeddings is not None and id(embeddings) not in seen and not _is_passed_by_keyword(self, part):
                seen.add(id(embeddings))
                hooks.append(embeddings.register_forward_hook(_Wanting(part)))
        # Upstream and others remove the hook through this attribute.
        self._require_grads_hook = _Hooks(hooks) if len(hooks) > 1 else hooks[0]
        return result

    return enable_input_require_grads


@FIX.recognises
def is_broken(method: Any) -> bool:
    """It has one hook, for the embeddings of the text."""
    from hotfix.pattern import occurs

    return occurs("self.get_input_embeddings().register_forward_hook(make_inputs_require_grads)", method)


class _Wanting:
    """A hook: the output of a module requires a gradient while a part is trained under checkpointing."""

    def __init__(self, part: Any) -> None:
        self.part = part

    def __call__(self, module: Any, inputs: Any, output: Any) -> Any:
        import torch  # the model has

        if not torch.is_grad_enabled() or not self.part.training or not _trains_in_checkpoints(self.part):
            return None
        others = (hook for hook in module._forward_hooks.values() if not isinstance(hook, _Wanting))
        if not all(scope.is_own(FIX.id, hook) for hook in others):
            return None  # a hook of the program's expects an output without a gradient
        if not isinstance(output, (tuple, list)):
            return _wanting(output)
        wanting = [_wanting(value) for value in output]
        named = hasattr(output, "_fields")
        return type(output)(*wanting) if named else type(output)(wanting)


def _trains_in_checkpoints(part: Any) -> bool:
    """Whether a weight is trained in a module that a part calls through a reentrant checkpoint.

    Checkpoints of the other kind pass gradients on, and a projector behind the blocks needs none of them.
    """
    return any(
        weight.requires_grad
        for module in part.modules()
        if getattr(module, "gradient_checkpointing", False) and _is_reentrant(module)
        for called in _called_through_a_checkpoint(module)
        for weight in called.parameters()
    )


def _called_through_a_checkpoint(module: Any) -> list[Any]:
    """The parts of a module under checkpointing that it calls so: its lists of blocks, or all where it has none.

    In later releases each block does so for itself.
    """
    if _is_layer(module):
        return [module]
    if any(map(_is_layer, module.modules())):
        return []
    return [child for child in module.children() if type(child).__name__ in ("ModuleList", "Sequential")] or [module]


def _is_layer(module: Any) -> bool:
    return any(kind.__name__ == "GradientCheckpointingLayer" for kind in type(module).__mro__)


def _is_reentrant(module: Any) -> bool:
    checkpoint = getattr(module, "_gradient_checkpointing_func", None)
    return bool(getattr(checkpoint, "keywords", {}).get("use_reentrant", True))


def _is_passed_by_keyword(model: Any, part: Any) -> bool:
    """Whether layers behind a part that do their own checkpointing get states by keyword.

    A reentrant checkpoint passes gradients on to positional arguments. States that it gets otherwise, and that want a
    gradient, are followed backwards once for each layer, which fails.
    """
    inside = {id(module) for module in part.modules()}
    kinds = {
        type(module)
        for module in model.modules()
        if id(module) not in inside and any(_is_layer(layer) for child in module.children() for layer in _listed(child))
    }
    return any(map(_passes_by_keyword, kinds))


def _listed(child: Any) -> list[Any]:
    return list(child.children()) if type(child).__name__ == "ModuleList" else [child]


def _passes_by_keyword(kind: Any) -> bool:
    import inspect
    import re

    try:
        source = inspect.getsource(kind.forward)
    except (OSError, TypeError):
        return True  # no one knows
    # Not those that a layer begins with, the switch for outputs, or the defaults of parameters.
    return re.search(r"\b(?!(?:output_)?hidden_states=)\w+_states=(?!None\b)\w", source) is not None


def _wanting(value: Any) -> Any:
    """A tensor that wants a gradient and can be written into, which a leaf of the graph cannot."""
    if not hasattr(value, "requires_grad_") or not value.is_floating_point() or value.requires_grad:
        return value
    return value.detach().requires_grad_(True).clone()


class _Hooks:
    """Several hooks, taken out together; in all else the first one, which is the one of the release."""

    def __init__(self, hooks: list[Any]) -> None:
        self.hooks = hooks

    def remove(self) -> None:
        for hook in self.hooks:
            hook.remove()

    def __enter__(self) -> _Hooks:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "hooks" not in vars(self):  # it is being copied
            raise AttributeError(name)
        return getattr(self.hooks[0], name)


def parts_of(model: Any) -> list[Any]:
    """The models inside of a model."""
    from transformers.modeling_utils import PreTrainedModel

    return [module for module in model.modules() if module is not model and isinstance(module, PreTrainedModel)]


def embeddings_of(part: Any) -> Any:
    """The module that embeds the input of a part, or None."""
    try:
        embeddings = part.get_input_embeddings()
    except Exception:  # a class says so that it has none, or takes pixels there; the release does not ask it
        embeddings = None
    places = [part, getattr(part, "embeddings", None)]
    named = (getattr(place, name, None) for place in places for name in _PATCHES)
    embeddings = (
        embeddings if embeddings is not None else next((module for module in named if module is not None), None)
    )
    return embeddings if hasattr(embeddings, "register_forward_hook") else None
