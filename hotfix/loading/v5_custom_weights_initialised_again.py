"""The weights of a custom model are initialised again after they were loaded.

Symptom   Silent. A model of a class of your own, or of a repository that is imported from its folder, answers after
          ``from_pretrained`` as if it had never been trained: its linear layers and embeddings are random. So are those
          of remote code in 5.0.0.
Cause     What is left to be initialised is told by a mark on each tensor, which the functions of ``torch.nn.init``
          obey. An ``_init_weights`` in the manner of 4.x writes into ``module.weight.data`` and does not see it.
          5.1.0 looks at the marks of weight and bias first, 5.3.0 at those of all tensors, in remote code alone.
Releases  5.0.0 to 5.12.1
Upstream  fixed in 5.13.0
Here      In a class from outside of the library, a module whose own tensors were all loaded is not initialised. Equal
          to 5.13.0 after loading. What is built without a checkpoint is initialised as before, also where
          ``_init_weights`` does it from a module that has no tensors of its own; 5.13.0 leaves that out.
"""

from __future__ import annotations

import ast
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    id="v5-custom-weights-initialised-again",
    title="Custom models have random weights after from_pretrained: _init_weights is called on what was loaded",
    kind="silent",
    fixed_in="5.13.0",
    prefilter="def _initialize_missing_keys(self, is_quantized",
)

_ASKS = 'if getattr(module, "_is_hf_initialized", False):\n    return'

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel._initialize_weights", ">=5.0.0,<=5.12.1"),
    fingerprint_of=("PreTrainedModel._initialize_weights", "PreTrainedModel._initialize_missing_keys"),
    old=_ASKS,
    new=f"""
        from {__name__} import was_loaded
        if was_loaded(self, module):
            module._is_hf_initialized = True
            return
        if getattr(module, "_is_hf_initialized", False):
            return
        """,
)


def was_loaded(model: Any, module: Any) -> bool:
    """Whether a module of a custom model has nothing left to be initialised.

    Args:
        model: to which it belongs.
        module: a part of it, or the whole. One without tensors of its own counts as what is in it.
    """
    if type(model).__module__.startswith("transformers."):
        return False
    own = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
    return all(getattr(one, "_is_hf_initialized", False) for one in own or module.parameters())


@FIX.recognises
def is_broken(function: ast.FunctionDef, keys: ast.FunctionDef) -> bool:
    """Nothing asks for custom code, and the modules of what was loaded are not marked before."""
    arguments = {one.arg for one in function.args.args}
    marks = {one.arg for one in keys.args.args} != {"self", "is_quantized"}
    return function.name == "_initialize_weights" and "is_custom_code" not in arguments and not marks
