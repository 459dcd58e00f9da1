"""GLM-4V's vision encoder mixes the images of a batch under eager attention.

Symptom   Silent. Under ``attn_implementation="eager"`` every patch attends to the patches of all images of a batch, and
          to all frames of a video, a little less than to those of its own image or frame. One image alone is right.
Cause     The mask says with True and False who sees whom. SDPA understands that; eager attention adds its mask to the
          scores, and so adds 1 or 0.
Releases  4.53.0
Upstream  transformers#39121 (fixed in 4.53.1)
Here      For eager attention the mask becomes one to be added: 0, or the smallest number. Bitwise equal to 4.53.1.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models.qwenvl_vision_fa2_crash import GLM4V, encoder_and_inputs
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="glm4v-bool-mask",
    title="GLM-4V's vision encoder attends across images under eager attention",
    kind="silent",
    upstream=("transformers#39121",),
    fixed_in="4.53.1",
    order=1,  # after qwenvl-vision-fa2-crash, which has another hand in the same function
    prefilter="dtype=torch.bool",
)

_FOR_EAGER = """\
if self.config._attn_implementation == 'eager':
    hidden, attention_mask = ~attention_mask, torch.zeros_like(attention_mask, dtype=query_states.dtype)
    attention_mask.masked_fill_(hidden, torch.finfo(query_states.dtype).min)
"""


@FIX.edits((f"{GLM4V}:Glm4vVisionAttention.forward", "==4.53.0"))
def mask_to_be_added(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Before the choice of the attention, make the mask one that eager attention can add."""
    if (
        not isinstance(node, ast.AnnAssign)
        or ast.unparse(node) != "attention_interface: Callable = eager_attention_forward"
    ):
        return None
    return [*code.statements(_FOR_EAGER, at=node), node]


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """A mask of True and False is made, and eager attention may be chosen."""
    made = [ast.unparse(node.value) for node in ast.walk(function) if isinstance(node, ast.Assign) and _is_mask(node)]
    chosen = any(mask_to_be_added(node) is not None for node in ast.walk(function))
    return chosen and any("dtype=torch.bool" in value for value in made)


def _is_mask(node: ast.Assign) -> bool:
    return ast.unparse(node.targets[0]) == "attention_mask"


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The encoder takes two images of different sizes; forward and backward."""
    encoder, inputs = encoder_and_inputs(testbed, target, attn="eager")
    output = encoder.train()(**inputs)
    loss = output.float().square().mean()
    loss.backward()
    gradients = {f"gradient of {name}": one.grad for name, one in encoder.named_parameters() if one.grad is not None}
    return {"output": output, "loss": loss, **gradients}
