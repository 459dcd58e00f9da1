"""Changes that users make to a model after it is built: a custom forward, hooks, wrappers, copies, casts."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from tools.deviations.registry import deviation
from tools.deviations.scene import NotHere, Scene

RUNNING = ("models", "training")


@deviation(*RUNNING, transparent=True)
def forward_on_the_instance(scene: Scene) -> None:
    """A plain function that calls the class's forward is assigned to `module.forward` after construction."""

    def change(part: Any) -> None:
        original = part.forward

        def forward(*arguments: Any, **options: Any) -> Any:
            return original(*arguments, **options)

        part.forward = forward

    _each_part(scene, change)


@deviation(*RUNNING, transparent=True)
def forward_as_partial(scene: Scene) -> None:
    """`functools.partial` of the forward is assigned to the instance, with its metadata, as Accelerate does it."""

    def own(part: Any, original: Any, *arguments: Any, **options: Any) -> Any:
        return original(*arguments, **options)

    def change(part: Any) -> None:
        original = part.forward
        part.forward = functools.update_wrapper(functools.partial(own, part, original), original)

    _each_part(scene, change)


@deviation(*RUNNING, transparent=True)
def forward_wrapped(scene: Scene) -> None:
    """`functools.wraps` of the forward is assigned to the instance."""

    def change(part: Any) -> None:
        original = part.forward

        @functools.wraps(original)
        def forward(*arguments: Any, **options: Any) -> Any:
            return original(*arguments, **options)

        part.forward = forward

    _each_part(scene, change)


@deviation(*RUNNING, transparent=True)
def hooks_that_read(scene: Scene) -> None:
    """Every module has hooks, before and after its forward, that look at all arguments and results."""

    def change(part: Any) -> None:
        part.register_forward_pre_hook(
            lambda module, arguments, options: str(type(arguments)) and None, with_kwargs=True
        )
        part.register_forward_hook(
            lambda module, arguments, options, output: str(type(output)) and None, with_kwargs=True
        )

    _each_module(scene, change)


@deviation(*RUNNING, transparent=True)
def hooks_that_rebuild_arguments(scene: Scene) -> None:
    """A hook before each module's forward rebuilds every container of the arguments, as moving to a device does."""

    def rebuild(module: Any, arguments: Any, options: Any) -> Any:
        return tuple(map(_rebuilt, arguments)), {name: _rebuilt(value) for name, value in options.items()}

    _each_module(scene, lambda part: part.register_forward_pre_hook(rebuild, with_kwargs=True))


@deviation(*RUNNING, transparent=True)
def hooks_that_copy_outputs(scene: Scene) -> None:
    """A hook behind each module of the target's class returns a copy of what the module returns."""

    def copied(module: Any, arguments: Any, output: Any) -> Any:
        return _rebuilt(output, lambda tensor: tensor * 1)

    _each_part(scene, lambda part: part.register_forward_hook(copied))


@deviation(*RUNNING, transparent=True)
def dispatched_like_accelerate(scene: Scene) -> None:
    """Each module's forward is exchanged for one that rebuilds arguments and outputs, as under a `device_map`."""

    def own(part: Any, original: Any, *arguments: Any, **options: Any) -> Any:
        output = original(*map(_rebuilt, arguments), **{name: _rebuilt(value) for name, value in options.items()})
        return _rebuilt(output)

    def change(part: Any) -> None:
        original = part.forward
        part._old_forward = original
        part.forward = functools.update_wrapper(functools.partial(own, part, original), original)

    _each_module(scene, change)


@deviation(*RUNNING, transparent=True)
def wrapped_like_peft(scene: Scene) -> None:
    """The model is inside a module that takes any arguments and looks its attributes up in the model."""
    import torch

    class MyWrapper(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.base_model = model

        def forward(self, *arguments: Any, **options: Any) -> Any:
            return self.base_model(*arguments, **options)

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name == "base_model":
                    raise
                return getattr(self.base_model, name)

    def change(model: Any) -> Any:
        scene.touch()
        return MyWrapper(model).train(model.training)

    scene.on_models(change)


@deviation(*RUNNING, transparent=True)
def adapters_like_lora(scene: Scene) -> None:
    """The projections of queries and values are wrapped in adapters that add nothing yet."""
    import torch

    class MyAdapter(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, base: Any) -> None:
            super().__init__()
            self.base_layer = base
            options: dict[str, Any] = {"bias": False, "dtype": base.weight.dtype, "device": base.weight.device}
            self.lora_A = torch.nn.Linear(base.in_features, 2, **options)
            self.lora_B = torch.nn.Linear(2, base.out_features, **options)
            torch.nn.init.constant_(self.lora_A.weight, 0.5)
            torch.nn.init.zeros_(self.lora_B.weight)

        @property
        def weight(self) -> Any:
            return self.base_layer.weight

        @property
        def bias(self) -> Any:
            return self.base_layer.bias

        def forward(self, states: Any) -> Any:
            return self.base_layer(states) + self.lora_B(self.lora_A(states))

    def change(model: Any) -> None:
        for part in list(model.modules()):
            for name, child in list(part.named_children()):
                if name in ("q_proj", "v_proj", "query", "value") and type(child) is torch.nn.Linear:
                    setattr(part, name, MyAdapter(child))
                    scene.touch()

    scene.on_models(change)


@deviation(*RUNNING, transparent=True)
def checkpointing(scene: Scene) -> None:
    """Gradient checkpointing is on."""

    def change(model: Any) -> None:
        if not getattr(model, "supports_gradient_checkpointing", False):
            return
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        scene.touch()

    scene.on_models(change)


@deviation(*RUNNING, transparent=True)
def checkpointing_with_reentry(scene: Scene) -> None:
    """Gradient checkpointing is on in its reentrant form, for a model in training."""

    def change(model: Any) -> None:
        if not getattr(model, "supports_gradient_checkpointing", False):
            return
        model.train().gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
        model.enable_input_require_grads()
        scene.touch()

    scene.on_models(change)


@deviation(*RUNNING)
def under_autocast(scene: Scene) -> dict[str, Any]:
    """Everything runs under autocast to bfloat16."""
    import torch

    scene.touch()
    with torch.autocast(scene.testbed.device, torch.bfloat16):
        return scene.run()


@deviation(*RUNNING)
def cast_to_bfloat16(scene: Scene) -> None:
    """The model is cast as a whole with `.to(torch.bfloat16)`, buffers too."""
    _cast(scene, "bfloat16")


@deviation("models")
def default_dtype_bfloat16(scene: Scene) -> dict[str, Any]:
    """`torch.set_default_dtype(torch.bfloat16)` holds while models are built and run."""
    import torch

    scene.touch()
    torch.set_default_dtype(torch.bfloat16)
    return scene.run()


@deviation(*RUNNING)
def cast_to_float32(scene: Scene) -> None:
    """The model is cast as a whole with `.float()`."""
    _cast(scene, "float32")


@deviation(*RUNNING, transparent=True)
def arguments_not_contiguous(scene: Scene) -> None:
    """Every tensor among the model's arguments is a view that is not contiguous."""
    _changed_arguments(scene, strided)


@deviation(*RUNNING)
def arguments_in_bfloat16(scene: Scene) -> None:
    """Every floating point tensor among the model's arguments is bfloat16, as after `batch.to(torch.bfloat16)`."""
    import torch

    _changed_arguments(scene, lambda value: value.to(torch.bfloat16) if value.is_floating_point() else value)


@deviation("models")
def batch_of_one(scene: Scene) -> None:
    """Every batch has one row: the first."""

    def change(module: Any, arguments: Any, options: Any) -> Any:
        tensors = [
            argument for argument in (*arguments, *options.values()) if hasattr(argument, "shape") and argument.ndim > 1
        ]
        rows = {tensor.shape[0] for tensor in tensors}
        if len(rows) != 1 or rows == {1}:
            return None
        scene.touch()
        cut = [argument[:1] if hasattr(argument, "shape") and argument.ndim else argument for argument in arguments]
        return tuple(cut), {
            name: value[:1] if hasattr(value, "shape") and value.ndim else value for name, value in options.items()
        }

    scene.on_models(lambda model: _on_first_call(model, change))


@deviation("models", "training", transparent=True)
def deepcopy_of_the_model(scene: Scene) -> None:
    """The model is a deep copy of the one that was built."""

    def change(model: Any) -> Any:
        scene.touch()
        return copy.deepcopy(model)

    scene.on_models(change)


@deviation("models", "training", transparent=True)
def pickled_model(scene: Scene) -> None:
    """The model was pickled and read again."""

    def change(model: Any) -> Any:
        scene.touch()
        return pickle.loads(pickle.dumps(model))

    scene.on_models(change)


@deviation("models", "training")
def not_causal(scene: Scene) -> None:
    """`is_causal = False` is set on every attention, as programs do that make an encoder of a decoder."""

    def change(part: Any) -> None:
        if hasattr(part, "is_causal"):
            part.is_causal = False
            scene.touch()

    def on_model(model: Any) -> None:
        for part in model.modules():
            change(part)

    scene.on_models(on_model)


@deviation("models")
def states_asked_for(scene: Scene) -> None:
    """`output_hidden_states` is set in the configuration after construction."""

    def change(model: Any) -> None:
        if getattr(model, "config", None) is not None:
            model.config.output_hidden_states = True
            scene.touch()

    scene.on_models(change)


@deviation("models")
def tuples_asked_for(scene: Scene) -> None:
    """`use_cache=False` is set in the configuration after construction."""

    def change(model: Any) -> None:
        if hasattr(getattr(model, "config", None), "use_cache"):
            model.config.use_cache = False
            scene.touch()

    scene.on_models(change)


@deviation("models", "training")
def compiled(scene: Scene) -> None:
    """The forward of the model is compiled, without a backend that changes numbers."""
    import torch

    def change(model: Any) -> None:
        model.forward = torch.compile(model.forward, backend="eager")
        scene.touch()

    scene.on_models(change)


# -- below: how they are applied ---------------------------------------------------------------------------------------


def strided(tensor: Any) -> Any:
    """The same numbers in a tensor that is not contiguous, where it has more than one number."""
    import torch

    if tensor.numel() < 2 or not tensor.ndim:
        return tensor
    if tensor.ndim == 1:
        return torch.stack([tensor, tensor], dim=-1)[..., 0]
    return torch.cat([tensor[..., :1], tensor], dim=-1)[..., 1:]  # as `ids[:, 1:]`: no view of it is flat


def _each_part(scene: Scene, change: Callable[[Any], Any]) -> None:
    def on_model(model: Any) -> None:
        for part in scene.parts(model):
            change(part)
            scene.touch()

    scene.on_models(on_model)


def _each_module(scene: Scene, change: Callable[[Any], Any]) -> None:
    def on_model(model: Any) -> None:
        for part in list(model.modules()):
            change(part)
            scene.touch()

    scene.on_models(on_model)


def _rebuilt(value: Any, on_tensor: Callable[[Any], Any] = lambda tensor: tensor) -> Any:
    """Containers made again, tensors as `on_tensor` has them."""
    import torch

    if isinstance(value, torch.Tensor):
        return on_tensor(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_rebuilt(child, on_tensor) for child in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_rebuilt(child, on_tensor) for child in value)
    if isinstance(value, Mapping):
        kind: Any = type(value)
        return kind({name: _rebuilt(child, on_tensor) for name, child in value.items()})
    return value


def _cast(scene: Scene, dtype: str) -> None:
    import torch

    def change(model: Any) -> None:
        model.to(getattr(torch, dtype))
        scene.touch()

    scene.on_models(change)


def _changed_arguments(scene: Scene, on_tensor: Callable[[Any], Any]) -> None:
    def change(module: Any, arguments: Any, options: Any) -> Any:
        scene.touch()
        changed = tuple(_rebuilt(argument, on_tensor) for argument in arguments)
        return changed, {name: _argument(value, on_tensor) for name, value in options.items()}

    scene.on_models(lambda model: _on_first_call(model, change))


def _argument(value: Any, on_tensor: Callable[[Any], Any]) -> Any:
    import torch

    return on_tensor(value) if isinstance(value, torch.Tensor) else value


def _on_first_call(model: Any, change: Any) -> None:
    if not hasattr(model, "register_forward_pre_hook"):
        raise NotHere("the model is no module")
    model.register_forward_pre_hook(change, with_kwargs=True)
