"""A custom model whose constructor needs the values of its tensors cannot be loaded.

Symptom   ``from_pretrained`` of remote code, or of a class of your own, ends with ``RuntimeError: Tensor.item() cannot
          be called on meta tensors`` (drop-path rates by ``[x.item() for x in torch.linspace(...)]``), with
          ``NotImplementedError: Cannot copy out of meta tensor; no data!`` (``.to(device)``, ``.tolist()``), or because
          the constructor itself calls ``from_pretrained``.
Cause     Models are built on the meta device, where tensors have no values: their parameters from 4.51.0 on, every
          tensor from 5.0.0 on.
Releases  4.51.0 and later
Upstream  transformers#43957, transformers#45092; 5.6.0 lets ``torch.linspace`` give values, and nothing else
Here      If the constructor of a custom model fails for this reason, the model is built a second time, on the CPU,
          without initializing weights, as in 4.50. Buffers that the constructor computes, and parameters that it loads
          and no file of the model has, keep their values. Quantized models and FSDP are left alone.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

_MOVES = "transformers.modeling_utils:PreTrainedModel._move_missing_keys_from_meta_to_device"
_BUILDS = "model = cls(config, *model_args, **model_kwargs)"

FIX = Fix(
    title="Custom models cannot be loaded if their constructor needs the values of a tensor",
    kind="crash",
    everyone="only after the constructor of a custom model has raised one of these errors",
    upstream=("transformers#43957", "transformers#45092"),
    prefilter="hf_quantizer",
    order=1,  # after v5-all-tied-weights-keys-missing, which inserts a call behind the same statement
    errors=(
        "RuntimeError: Tensor.item() cannot be called on meta tensors",
        "NotImplementedError: Cannot copy out of meta tensor; no data!…",
        "NotImplementedError: Could not run 'aten::…' with arguments from the 'Meta' backend…",
        "NotImplementedError: aten::…: attempted to run this operator with Meta tensors…",
        "TypeError: can't convert meta device type tensor to numpy…",
        "RuntimeError: Expected all tensors to be on the same device, but …meta…",
        "RuntimeError: Tensor on device cpu is not on the expected device meta!…",
        "RuntimeError: You are using `from_pretrained` with a meta device context manager…",
    ),
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", ">=4.51.0,<=5.24.0"),
    old=_BUILDS,
    unless="low_cpu_mem_usage",  # to 4.50, the meta device is used on request
    new=f"""
        from {__name__} import copied, built_on_the_cpu
        _hotfix_config = copied(cls, config, hf_quantizer)  # the first attempt may change it
        try:
            {_BUILDS}
        except (RuntimeError, TypeError) as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
            model = built_on_the_cpu(cls, _hotfix_config, model_args, model_kwargs, _hotfix_error)
            if model is None:
                raise
        """,
)

_on_the_cpu: Any = WeakValueDictionary()  # by id


def copied(cls: Any, config: Any, quantizer: Any) -> Any:
    """A copy of the configuration of a custom model, or itself if its class makes copies in its own way; else None.

    Args:
        cls: the class of the model.
        config: the configuration.
        quantizer: what quantizes the model, or None.
    """
    import torch

    if scope.was_written_in("transformers", cls) or quantizer is not None:
        return None
    if hasattr(type(config), "__deepcopy__"):
        return config
    try:
        with torch.device("cpu"):
            return copy.deepcopy(config)
    except Exception:  # of an attribute of the program's
        return config


def built_on_the_cpu(cls: Any, config: Any, args: Any, kwargs: Any, error: Exception) -> Any:
    """A model that could not be built for want of values; None if that is not the reason, or it fails again.

    Args:
        cls: its class.
        config: from `copied`.
        args: further arguments of the class.
        kwargs: further arguments of the class, by name.
        error: of the first attempt.
    """
    if config is None or _is_fsdp() or not _keeps_values():
        return None
    if not scope.is_declared(error, FIX.id, FIX.errors, of_program=True):
        return None
    try:
        with _values():
            model = cls(config, *args, **kwargs)
    except Exception:
        return None
    _on_the_cpu[id(model)] = model
    return model


@FIX.wraps((_MOVES, ">=5.0.0,<=5.24.0"))
def keeps(original: Any) -> Any:
    """Keep what the constructor of such a model has computed or loaded."""

    def _move_missing_keys_from_meta_to_device(self: Any, missing_keys: Any, *args: Any, **kwargs: Any) -> Any:
        if _on_the_cpu.get(id(self)) is not self:
            return original(self, missing_keys, *args, **kwargs)
        kept = {name: self.get_parameter_or_buffer(name) for name in missing_keys}
        kept = {name: tensor for name, tensor in kept.items() if getattr(tensor, "_is_hf_initialized", False)}
        kept.update(self.named_non_persistent_buffers())
        result = original(self, missing_keys, *args, **kwargs)
        for path, tensor in kept.items():
            owner, _, name = path.rpartition(".")
            tensors = vars(self.get_submodule(owner))["_parameters" if tensor.requires_grad else "_buffers"]
            if tensor.device.type != "meta":
                tensor.data = tensor.data.to(tensors[name].device)
                tensors[name] = tensor
        return result

    return _move_missing_keys_from_meta_to_device


@contextmanager
def _values() -> Iterator[None]:
    """Tensors have values in here, and the weights of a model are not initialized."""
    import torch

    module: Any = torch.nn.Module
    patched = module.register_parameter
    whole = inspect.getclosurevars(patched).nonlocals.get("old_register_parameter", patched)
    try:
        without_values: Any = import_module("transformers.initialization").no_init_weights()
    except (
        ImportError,
        AttributeError,
    ):  # 4.x is in such a context already; hotfix may give it the module's other names
        without_values = nullcontext()
    module.register_parameter = whole
    try:
        with torch.device("cpu"), without_values:
            yield
    finally:
        module.register_parameter = patched


def _is_fsdp() -> bool:
    return bool(import_module("transformers.modeling_utils").is_fsdp_enabled())


def _keeps_values() -> bool:
    """Whether the release keeps what a constructor has computed, by itself (4.x) or by this fix."""
    model: Any = import_module("transformers.modeling_utils").PreTrainedModel
    return not hasattr(model, _MOVES.rpartition(".")[2]) or scope.is_in_place(FIX.id, _MOVES)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """Whether it builds a model once, or forgets what the constructor has computed."""
    if function.name == "from_pretrained":
        return occurs(_BUILDS, function) and not occurs("low_cpu_mem_usage", function)
    return occurs("torch.empty_like(buffer, device=buffer_device)", function)
