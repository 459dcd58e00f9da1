"""No model without attention sinks can run under FlashAttention.

Symptom   ``AttributeError: 'NoneType' object has no attribute 'to'`` in the first attention layer of every forward.
Cause     The learned attention sinks ``s_aux``, which almost no model has, are cast without asking whether there are
          any.
Releases  5.6.0
Upstream  transformers#45588, transformers#45589 (fixed in 5.6.1)
Here      The sinks are cast if there are any. Bitwise equal to 5.6.1.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models._generation import llama
from hotfix.models._training import padded_step
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="v5-fa2-s-aux-none",
    title="FlashAttention raises AttributeError: 'NoneType' object has no attribute 'to' for models without sinks",
    kind="crash",
    upstream=("transformers#45588", "transformers#45589"),
    fixed_in="5.6.1",
    prefilter="s_aux.to(",
)

_CAST = "s_aux.to(query.dtype)"


@FIX.edits(("transformers.integrations.flash_attention:flash_attention_forward", "==5.6.0"))
def cast_if_there_are_any(node: ast.AST) -> Optional[ast.keyword]:
    """Where the sinks are handed on cast, hand on None if they are None."""
    if not isinstance(node, ast.keyword) or node.arg != "s_aux" or ast.unparse(node.value) != _CAST:
        return None
    [cast] = code.statements(f"{_CAST} if s_aux is not None else None", at=node.value)
    assert isinstance(cast, ast.Expr)
    return ast.keyword(arg=node.arg, value=cast.value)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The sinks are cast in any case."""
    return any(cast_if_there_are_any(node) is not None for node in ast.walk(function))


@FIX.case(raises="AttributeError: 'NoneType' object has no attribute 'to'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama sees two samples, one of them padded, with labels."""
    return padded_step(testbed, llama(testbed))
