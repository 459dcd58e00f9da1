"""A module of a custom model initialises the loaded weights of what is in it.

Symptom   Silent. Qwen-7B, Qwen-VL and Qwen-Audio answer with noise: the output projection of every attention layer is
          random after ``from_pretrained``. The same of other remote code that goes back to GPT-2, and of a layer whose
          bias is in no checkpoint: its weight is random, too.
Cause     4.x initialises what is missing and then loads. 5.x loads first, and calls ``_init_weights`` for each module
          that has a tensor which was not loaded, as a buffer with ``persistent=False``. The functions of
          ``torch.nn.init`` leave loaded tensors alone; code that writes into ``parameter.data`` by itself, its
          own or that of a child, as GPT-2 did with ``c_proj.weight``, does not. 5.2.0 leaves a bias that was not
          loaded as random memory, if the weight beside it was.
Releases  5.0.0 and later
Upstream  transformers#46620 is about modules all of whose own tensors were loaded (fixed in 5.13.0); not changed for
          the others. So this is opt-in.
Here      A module of a custom model is initialised unless all that is in it was loaded, and what is written into a
          tensor that was loaded is left out, as if it had been loaded afterwards. The library's own models are
          initialised as before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Callable

from hotfix.fix import Fix

if TYPE_CHECKING:
    import torch

FIX = Fix(
    title="Qwen-7B and other remote code have random weights in 5.x: a module initialises what is in it",
    kind="silent",
    upstream=("transformers#46620",),
    optin="upstream has not repaired it, and it changes which modules a running model initialises",
    group="removed-names",  # code that runs again because of them has to compute the same
    prefilter="def _initialize_missing_keys(self, is_quantized",
)


@FIX.wraps(
    ("transformers.modeling_utils:PreTrainedModel._initialize_weights", ">=5.0.0,<=5.23.0"),
    fingerprint_of=("PreTrainedModel._initialize_weights", "PreTrainedModel._initialize_missing_keys"),
)
def but_what_was_loaded(original: Callable[..., None]) -> Callable[..., None]:
    """Initialises one module."""

    def _initialize_weights(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        of_the_library = type(self).__module__.partition(".")[0] == "transformers"
        if of_the_library or getattr(module, "_is_hf_initialized", False):
            original(self, module, *args, **kwargs)
            return
        tensors = [*module.parameters(), *module.buffers()]
        if not tensors or not all(_was_loaded(one) for one in tensors):
            with kept(tensors):
                self._init_weights(module)
        module._is_hf_initialized = True

    return _initialize_weights


@contextmanager
def kept(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Leave out what is written into those of the tensors that were loaded."""
    loaded = [(one, one.data) for one in tensors if _was_loaded(one)]
    if not loaded:
        yield
        return
    from torch.utils._python_dispatch import TorchDispatchMode

    class Keeping(TorchDispatchMode):  # type: ignore[misc]  # torch is not there where types are read
        """Operations that write into memory of theirs do nothing."""

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            given = dict(zip((one.name for one in func._schema.arguments), args), **(kwargs or {}))
            into = [one.name for one in func._schema.arguments if one.alias_info and one.alias_info.is_write]
            written = [given[name] for name in into if name in given]
            if any(_memory(one) in memory for one in written):
                return written[0] if len(written) == 1 else tuple(written)
            return func(*args, **(kwargs or {}))

    memory = {_memory(data) for _, data in loaded}
    with Keeping():
        yield
    for one, data in loaded:
        if _memory(one) != _memory(data):  # other memory was put in its place
            one.data = data


def _was_loaded(tensor: torch.Tensor) -> bool:
    return bool(getattr(tensor, "_is_hf_initialized", False))


def _memory(tensor: Any) -> Any:
    """What tensors have in common that are views of one memory; None for a list of tensors."""
    return tensor.untyped_storage()._cdata if hasattr(tensor, "untyped_storage") else None


@FIX.recognises
def is_broken(function: ast.FunctionDef, keys: ast.FunctionDef) -> bool:
    """It initialises modules after the checkpoint was loaded."""
    return function.name == "_initialize_weights" and {one.arg for one in keys.args.args} == {"self", "is_quantized"}
