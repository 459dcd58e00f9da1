"""Gemma 3 lets the tokens of an image see all other images, also those that come later.

Symptom   Silent. With several images in a prompt or a training sample, what is computed of one image depends on the
          images that follow, and with it all text behind it.
Cause     Between image tokens attention is bidirectional, and the mask does not ask which image a token is of.
Releases  4.50.0 to 4.51.3
Upstream  transformers#38053, transformers#38080 (fixed in 4.52.1)
Here      An image is a run of image tokens, as Gemma's processor lays them out, with text between images. Bitwise equal
          to 4.52.1.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models import _gemma3
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="gemma3-bidirectional-across-images",
    title="Gemma 3 lets the tokens of an image see all other images, also later ones",
    kind="silent",
    upstream=("transformers#38053", "transformers#38080"),
    fixed_in="4.52.1",
    prefilter="token_type_mask = token_type_ids.unsqueeze(1)",
)

_WHETHER = "token_type_mask = token_type_ids.unsqueeze(1) == token_type_ids.unsqueeze(2)"
_WHICH = f"""\
from {_gemma3.__name__} import image_numbers
image_numbers = image_numbers(token_type_ids)
token_type_mask = image_numbers.unsqueeze(1) == image_numbers.unsqueeze(2)
"""


@FIX.edits((f"{_gemma3.MODELING}:Gemma3ForConditionalGeneration._update_causal_mask", ">=4.50.0,<=4.51.3"))
def which_image(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Where tokens are compared by whether they are of an image, compare them by which image they are of."""
    if not isinstance(node, ast.Assign) or ast.unparse(node) != _WHETHER:
        return None
    return code.statements(_WHICH, at=node)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The mask asks whether tokens are of an image, and not whether it is the same one."""
    asks = any(which_image(node) is not None for node in ast.walk(function))
    return asks and not any(isinstance(node, ast.Name) and node.id == "same_image_mask" for node in ast.walk(function))


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Two texts with two images each; forward and backward."""
    return _gemma3.trained_step(testbed)
