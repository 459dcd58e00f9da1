"""A decoder layer of your own that returns a tuple causes an error in the next layer.

Symptom   ``AttributeError: 'tuple' object has no attribute 'contiguous'`` from the second layer, or another error about
          a tuple in place of a tensor: the tutorial of TransformerEngine, and other code that puts layers written for
          4.53 in the place of the library's.
Cause     A layer returned a tuple, of which the model took the first element. Since 4.54.0 it returns a tensor, and the
          model passes on whatever it gets.
Releases  4.54.0 and later, in Llama, Mistral, Qwen2 and Qwen3
Upstream  TransformerEngine#2567 (not put back)
Here      Where the next layer, or the last norm, raises such an error because it got a tuple, it is called again with
          the first element, as in 4.53.3. A program that handles the error gets it. A compiled model is left alone.
"""

from __future__ import annotations

import ast
import copy
import sys
from typing import Any, Optional, Union

from hotfix.fix import Fix
from hotfix.patching import compiling, scope
from hotfix.pattern import Rewrite, occurs

FIX = Fix(
    title="AttributeError: 'tuple' object has no attribute 'contiguous', of a decoder layer of your own",
    kind="removed-api",
    group="removed-names",
    upstream=("TransformerEngine#2567",),
    everyone="only after a layer or a norm that was given a tuple has raised for that reason",
    errors=("AttributeError: 'tuple' object has no attribute 'contiguous'",),
    prefilter="decoder_layer",
    exempt={
        "transformers.models.*:*": "the layers of other models are rarely replaced",
        "transformers.models.glm_moe_dsa.modeling_glm_moe_dsa:GlmMoeDsaModel.forward": "newer than such layers",
    },
)

MODELS = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
_LAYER = "hidden_states = decoder_layer(hidden_states, **__OTHERS)"
_NORM = "hidden_states = self.norm(hidden_states)"
_THROUGH = Rewrite(
    (_LAYER, _NORM),
    (
        "hidden_states = through(decoder_layer, hidden_states, **__OTHERS)",
        "hidden_states = through(self.norm, hidden_states)",
    ),
    alternatives=True,
)


@FIX.edits(
    *(
        (f"transformers.models.{folder}.modeling_{folder}:{name}Model.forward", ">=4.54.0,<=5.24.0")
        for folder, name in MODELS.items()
    ),
    count=2,
)
def one_by_one(node: ast.AST) -> Optional[list[ast.stmt]]:
    """The loop over the layers, and the norm behind it, each through `through`."""
    is_loop = isinstance(node, ast.For) and occurs(_LAYER, node)
    if not (is_loop or (isinstance(node, ast.Assign) and ast.unparse(node) == _NORM)):
        return None
    changed = _THROUGH.apply(ast.Module([copy.deepcopy(node)], []))[0]  # type: ignore[list-item]
    return [ast.ImportFrom(__name__, [ast.alias("through")], 0), *changed.body]


def through(module: Any, hidden_states: Any, /, **others: Any) -> Any:
    """What a layer or a norm returns.

    Args:
        module: the layer or the norm.
        hidden_states: what the layer before has returned.
        others: further arguments of a layer.
    """
    if type(hidden_states) is not tuple or compiling.is_compiling():  # handlers of the program cannot be traced
        return module(hidden_states, **others)
    try:
        return module(hidden_states, **others)
    except (AttributeError, TypeError) as _hotfix_error:  # `hotfix.asking` does not count a handler with this name
        if not _may_be_repaired(_hotfix_error, hidden_states, sys._getframe(1)):
            raise
    return module(hidden_states[0], **others)


def _may_be_repaired(error: Union[AttributeError, TypeError], hidden_states: Any, frame: Any) -> bool:
    """Whether an error comes from a tuple in the place of a tensor, its first element, and nobody handles it."""
    import torch

    is_about_it = "tuple" in str(error) and len(hidden_states) > 0 and isinstance(hidden_states[0], torch.Tensor)
    return is_about_it and not scope.is_handled(FIX.id, type(error), frame)


@FIX.recognises
def passes_on(function: ast.AST) -> bool:
    """Whether a loop passes on what a layer returns, to the next one and to a norm."""
    return occurs(_LAYER, function) and occurs(_NORM, function)
