"""The weights of a custom model are initialised again after they were loaded.

Symptom   Silent. A model of a class of your own, or of a repository that is imported from its folder, answers after
          ``from_pretrained`` as if it had never been trained: its linear layers and embeddings are random. So are those
          of remote code in 5.0.0.
Cause     What is left to be initialised is told by a mark on each tensor, which the functions of ``torch.nn.init``
          obey. An ``_init_weights`` in the manner of 4.x writes into ``module.weight.data`` and does not see it.
          5.1.0 looks at the marks of weight and bias first, 5.3.0 at those of all tensors, in remote code alone.
Releases  5.0.0 to 5.12.1
Upstream  fixed in 5.13.0
Here      In a class from outside of the library, what ``_init_weights`` writes into tensors that were loaded is left
          out, in a module that has no others of its own. The tensors are those of 5.13.0. It is called as in stock: it
          may fill a buffer of a child, or set an attribute that the model goes by.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix
from hotfix.loading.v5_custom_child_weights_initialised_again import kept

FIX = Fix(
    title="Custom models have random weights after from_pretrained: _init_weights is called on what was loaded",
    kind="silent",
    everyone="custom models are what it is about; what a checkpoint does not have is initialised as before",
    fixed_in="5.13.0",
    prefilter="def _initialize_missing_keys(self, is_quantized",
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._initialize_weights", ">=5.0.0,<=5.12.1"),
    fingerprint_of=("PreTrainedModel._initialize_weights", "PreTrainedModel._initialize_missing_keys"),
    old="self._init_weights(module)",
    new=f"""
        from {__name__} import initialise
        initialise(self, module)
        """,
)


def initialise(model: Any, module: Any) -> None:
    """Initialise a module; where all of its own tensors were loaded, nothing that was loaded changes.

    Args:
        model: to which it belongs.
        module: a part of it, or the whole.
    """
    if not was_loaded(model, module):
        model._init_weights(module)
        return
    tensors = [*module.parameters(), *module.buffers()]
    with kept(tensors):
        model._init_weights(module)


def was_loaded(model: Any, module: Any) -> bool:
    """Whether a module of a custom model has no tensors of its own, or all of them were loaded.

    Args:
        model: to which it belongs.
        module: a part of it, or the whole.
    """
    if type(model).__module__.partition(".")[0] == "transformers":
        return False
    return all(map(_is_loaded, (*module.parameters(recurse=False), *module.buffers(recurse=False))))


def has_tensors(module: Any) -> bool:
    """Whether a module has tensors of its own."""
    return any(True for _ in (*module.parameters(recurse=False), *module.buffers(recurse=False)))


def _is_loaded(tensor: Any) -> bool:
    return bool(getattr(tensor, "_is_hf_initialized", False))


@FIX.recognises
def is_broken(function: ast.FunctionDef, keys: ast.FunctionDef) -> bool:
    """Nothing asks for custom code, and the modules of what was loaded are not marked before."""
    arguments = {one.arg for one in function.args.args}
    marks = {one.arg for one in keys.args.args} != {"self", "is_quantized"}
    return function.name == "_initialize_weights" and "is_custom_code" not in arguments and not marks
