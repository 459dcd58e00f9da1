"""A module of a custom model initializes the loaded weights of its submodules.

Symptom   Silent. Qwen-7B, Qwen-VL and Qwen-Audio answer with noise: the output projection of every attention layer is
          random after ``from_pretrained``. The same happens to other remote code that derives from GPT-2, and to the
          weight of a layer whose bias is in no checkpoint.
Cause     4.x initializes missing weights and then loads. 5.x loads first, and calls ``_init_weights`` for each module
          with a tensor that was not loaded, such as a buffer with ``persistent=False``. The functions of
          ``torch.nn.init`` leave loaded tensors alone. Code that writes into ``parameter.data``, of the module or a
          child, as GPT-2 did with ``c_proj.weight``, does not. 5.2.0 leaves a missing bias uninitialized if the weight
          of its module was loaded.
Releases  5.0.0 and later
Upstream  transformers#46620 is about modules all of whose own tensors were loaded (fixed in 5.13.0); not changed for
          the others. So this is opt-in.
Here      A module of a custom model is initialized unless all of its tensors were loaded. Writes into a loaded tensor
          are undone, as if it had been loaded afterwards. The library's own models are initialized as before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope

if TYPE_CHECKING:
    import torch

FIX = Fix(
    title="Qwen-7B and other remote code have random weights after from_pretrained in transformers 5",
    kind="silent",
    upstream=("transformers#46620",),
    optin="upstream has not repaired it, and it changes which modules a running model initializes",
    group="removed-names",  # code that runs again because of them has to compute the same
    prefilter="def _initialize_missing_keys(self, is_quantized",
)


@FIX.wraps(
    ("transformers.modeling_utils:PreTrainedModel._initialize_weights", ">=5.0.0,<=5.24.0"),
    fingerprint_of=("PreTrainedModel._initialize_weights", "PreTrainedModel._initialize_missing_keys"),
)
def but_what_was_loaded(original: Callable[..., None]) -> Callable[..., None]:
    """Initialize one module."""

    def _initialize_weights(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        of_the_library = scope.was_written_in("transformers", type(self))
        if of_the_library or getattr(module, "_is_hf_initialized", False):
            original(self, module, *args, **kwargs)
            return
        tensors = [*module.parameters(), *module.buffers()]
        if not tensors or not all(map(_was_loaded, tensors)):
            with kept(tensors):
                self._init_weights(module)
        module._is_hf_initialized = True

    return _initialize_weights


def _is_cast(tensor: torch.Tensor, data: torch.Tensor) -> bool:
    """Whether a tensor has the loaded values in another dtype: ``norm.to(torch.float32)``."""
    is_other = tensor.dtype != data.dtype and tensor.shape == data.shape and tensor.device == data.device
    return is_other and bool((tensor.data.to(data.dtype) == data).all())


@contextmanager
def kept(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Undo, at the end, what is written into the loaded ones of these tensors.

    Until then the writes take place: they draw random numbers, and later lines read them. Only what is written to is
    copied. A tensor that was given the memory of another loaded one keeps it, and so does one that was only cast.
    Nothing is undone if a loaded tensor was read and one that was not loaded has changed: the values may have moved.
    """
    loaded = [(tensor, tensor.data) for tensor in tensors if _was_loaded(tensor)]
    missing = [(tensor, _memory(tensor)) for tensor in tensors if not _was_loaded(tensor)]
    if not loaded:
        yield
        return
    from torch.utils._python_dispatch import TorchDispatchMode

    places: dict[Any, list[torch.Tensor]] = {}
    for _, data in loaded:
        places.setdefault(_memory(data), []).append(data)
    copies: dict[Any, list[torch.Tensor]] = {}
    read, written = set(), set()

    class Copying(TorchDispatchMode):  # type: ignore[misc]  # torch is not there where types are read
        """Before the first operation that writes into loaded memory, its tensors are copied."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            parameters = func._schema.arguments
            given = dict(zip((parameter.name for parameter in parameters), args), **(kwargs or {}))
            for parameter in parameters:
                argument = given.get(parameter.name)
                memories = {*map(_memory, argument if isinstance(argument, (list, tuple)) else (argument,))}
                if parameter.alias_info and parameter.alias_info.is_write:
                    written.update(memories)
                    for memory in memories & places.keys() - copies.keys():
                        copies[memory] = [data.clone() for data in places[memory]]
                elif parameter.alias_info is None:  # otherwise it makes a view
                    read.update(memories)
            return func(*args, **(kwargs or {}))

    with Copying():
        yield
    if read & places.keys() and any(memory in written or _memory(tensor) != memory for tensor, memory in missing):
        return
    for memory, before in copies.items():
        for data, copy in zip(places[memory], before):
            data.copy_(copy)
    for tensor, data in loaded:
        if _memory(tensor) not in places and not _is_cast(tensor, data):  # it was given new memory
            tensor.data = data


def _was_loaded(tensor: torch.Tensor) -> bool:
    return bool(getattr(tensor, "_is_hf_initialized", False))


def _memory(tensor: Any) -> Any:
    """An identity of the memory, shared by all views of it; None for a list of tensors."""
    return tensor.untyped_storage()._cdata if hasattr(tensor, "untyped_storage") else None


@FIX.recognises
def is_broken(function: ast.FunctionDef, keys: ast.FunctionDef) -> bool:
    """Whether it initializes modules after the checkpoint was loaded."""
    return function.name == "_initialize_weights" and {argument.arg for argument in keys.args.args} == {
        "self",
        "is_quantized",
    }
