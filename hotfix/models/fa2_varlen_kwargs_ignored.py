"""FlashAttention-2 does not look at the lengths of packed sequences unless there are position ids, too.

Symptom   Silent. Sequences that are packed into one row, with ``cu_seq_lens_q`` and its like as
          `DataCollatorWithFlattening` gives them, attend to each other in every model whose attention does not hand its
          position ids on: Cohere2, and in 4.53.0 also Persimmon and the decoders of Qwen2-VL and Qwen2.5-VL. So it is
          for whoever calls ``_flash_attention_forward`` with lengths alone.
Cause     The choice of the packed kernel asks for position ids first, although they are not used where there are
          lengths.
Releases  4.47.0 to 4.53.0
Upstream  transformers#39121 (fixed in 4.53.1)
Here      The packed kernel is chosen if all four lengths are there, or for the reasons of the release. Bitwise equal to
          4.53.1.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="fa2-varlen-kwargs-ignored",
    title="FlashAttention-2 ignores the lengths of packed sequences where it gets no position ids",
    kind="silent",
    upstream=("transformers#39121",),
    fixed_in="4.53.1",
    prefilter="max_length_q is not None or",
)

_ARE_GIVEN = (
    "cu_seq_lens_q is not None and cu_seq_lens_k is not None and max_length_q is not None and max_length_k is not None"
)


@FIX.edits(("transformers.modeling_flash_attention_utils:_flash_attention_forward", ">=4.47.0,<=4.53.0"))
def packed_if_lengths_are_given(node: ast.AST) -> Optional[ast.If]:
    """Where the packed kernel is chosen for position ids that come with a length, choose it for the lengths alone."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.BoolOp) or not isinstance(node.test.op, ast.And):
        return None
    first, *_, last = (ast.unparse(one) for one in node.test.values)
    if first != "position_ids is not None" or not last.startswith("max_length_q is not None or"):
        return None
    [given] = code.statements(_ARE_GIVEN, at=node.test)
    assert isinstance(given, ast.Expr)
    return ast.If(test=ast.BoolOp(op=ast.Or(), values=[given.value, node.test]), body=node.body, orelse=node.orelse)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The packed kernel is chosen only if there are position ids."""
    return any(packed_if_lengths_are_given(node) is not None for node in ast.walk(function))


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Sequences of 5 and 4 tokens in one row, forward and backward; no model, so no position ids."""
    import torch

    shapes = {"query": (1, 9, 4, 16), "key": (1, 9, 2, 16), "value": (1, 9, 2, 16)}
    states = {
        name: testbed.randn(*shape, dtype=torch.bfloat16, seed=seed).requires_grad_()
        for seed, (name, shape) in enumerate(shapes.items())
    }
    bounds = torch.tensor([0, 5, 9], dtype=torch.int32, device=testbed.device)
    forward = import_module(target.module)._flash_attention_forward
    output = forward(
        *states.values(),
        attention_mask=None,
        query_length=9,
        is_causal=True,
        cu_seq_lens_q=bounds,
        cu_seq_lens_k=bounds,
        max_length_q=5,
        max_length_k=5,
    )
    output.float().square().mean().backward()
    testbed.assert_flash()
    gradients = {f"gradient of {name}": one.grad for name, one in states.items() if one.grad is not None}
    return {"output": output, **gradients}
