"""The weights of a custom model are initialized again after they were loaded.

Symptom   Silent. A model of a class of your own, or of a repository that is imported from its folder, answers after
          ``from_pretrained`` as if it had never been trained: its linear layers and embeddings are random. So are those
          of remote code in 5.0.0.
Cause     A flag on each loaded tensor keeps the functions of ``torch.nn.init`` from initializing it. An
          ``_init_weights`` as in 4.x writes into ``module.weight.data`` and ignores the flag. 5.1.0 checks the flags
          of weight and bias first, 5.3.0 those of all tensors, in remote code only.
Releases  5.0.0 to 5.12.1
Upstream  fixed in 5.13.0
Here      For a class outside of the library, writes of ``_init_weights`` into loaded tensors are undone, in a module
          all of whose own tensors were loaded. The tensors are those of 5.13.0. ``_init_weights`` runs as in the
          release: it may fill a buffer of a child, set an attribute that the model uses, or draw random numbers.
          Where it has read loaded tensors and filled missing ones, values may have moved (PiSSA): nothing is undone.
"""

from __future__ import annotations

import ast
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hotfix.fix import Fix
from hotfix.loading.v5_custom_child_weights_initialised_again import kept
from hotfix.patching import scope

FIX = Fix(
    title="Custom models have random weights after from_pretrained: _init_weights overwrites the checkpoint",
    kind="silent",
    everyone="only for custom models; weights that the checkpoint lacks are initialized as before",
    fixed_in="5.13.0",
    prefilter="def _initialize_missing_keys(self, is_quantized",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._initialize_weights", ">=5.0.0,<=5.12.1"),
    fingerprint_of=("PreTrainedModel._initialize_weights", "PreTrainedModel._initialize_missing_keys"),
    old="self._init_weights(module)",
    new=f"""
        from {__name__} import as_loaded
        with as_loaded(self, module):
            self._init_weights(module)
        """,
)


def as_loaded(model: Any, module: Any) -> AbstractContextManager[None]:
    """A context that undoes changes to loaded tensors of a module, if all of its own tensors were loaded.

    Args:
        model: the model.
        module: a part of it, or the model itself.
    """
    return kept([*module.parameters(), *module.buffers()]) if was_loaded(model, module) else nullcontext()


def was_loaded(model: Any, module: Any) -> bool:
    """Whether a module of a custom model has no tensors of its own, or all of them were loaded.

    Args:
        model: the model.
        module: a part of it, or the model itself.
    """
    if scope.was_written_in("transformers", type(model)):
        return False
    return all(map(_is_loaded, (*module.parameters(recurse=False), *module.buffers(recurse=False))))


def has_tensors(module: Any) -> bool:
    """Whether a module has tensors of its own."""
    return any(True for _ in (*module.parameters(recurse=False), *module.buffers(recurse=False)))


def _is_loaded(tensor: Any) -> bool:
    return bool(getattr(tensor, "_is_hf_initialized", False))


@FIX.recognises
def is_broken(function: ast.FunctionDef, keys: ast.FunctionDef) -> bool:
    """Whether it treats custom code like the library's, and does not flag modules before."""
    arguments = {argument.arg for argument in function.args.args}
    marks = {argument.arg for argument in keys.args.args} != {"self", "is_quantized"}
    return function.name == "_initialize_weights" and "is_custom_code" not in arguments and not marks
