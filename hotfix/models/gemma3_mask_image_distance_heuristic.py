"""Gemma 3 treats image tokens that are close together as one image, or all image tokens as text.

Symptom   Silent. With two images close to each other, the states of the first, and of all text after it, depend on the
          second. In `generate` with a cache of fixed length, the default of Google's checkpoints, images are read
          causally, like text.
Cause     Attention is bidirectional between image tokens that are no further apart than an image is long. `generate`
          reads the token types from the wrong variable, which has none.
Releases  4.53.0 to 4.53.3; 4.52 had it right.
Upstream  transformers#39389, transformers#39396 (fixed in 4.54.0)
Here      An image is a run of image tokens, as Gemma's processor lays them out, with text between images; a row with no
          more image tokens than one image has is compared as in the release. Free places in a cache belong to no image.
          `generate` passes the types on for a prompt with images and an empty cache (4.54.0 raises an IndexError for a
          later turn), and only to Gemma 3's own mask, while that is repaired. Bitwise equal to 4.54.0.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.models import _gemma3
from hotfix.patching import scope

if TYPE_CHECKING:
    import torch


FIX = Fix(
    title="Gemma 3: two images close together attend to each other; generate() reads images causally",
    kind="silent",
    upstream=("transformers#39389", "transformers#39396"),
    fixed_in="4.54.0",
    everyone="only Gemma 3's own mask, and a prompt with images: the new code tests it",
    prefilter="<= tokens_per_image",
)

RELEASES = ">=4.53.0,<=4.53.3"
MASK = f"{_gemma3.MODELING}:token_type_ids_mask_function"
PREPARE = "transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation"


@FIX.replaces((MASK, RELEASES), when="token_type_ids is not None")
def token_type_ids_mask_function(
    token_type_ids: Optional[torch.Tensor], tokens_per_image: int
) -> Optional[Callable[..., Any]]:
    """The part of Gemma 3's mask that is not causal: attention within an image.

    Args:
        token_type_ids: 1 for tokens of images, int64, of shape (batch, tokens); or None.
        tokens_per_image: how many an image has.

    Returns:
        A function of the indices of batch, head, query and key, int64, to bool; or None if there are no types.
    """
    if token_type_ids is None:
        return None
    from hotfix.models._gemma3 import image_numbers

    numbers = image_numbers(token_type_ids)
    # A row with one image is read as in the release: there may be other tokens between the rows of its patches.
    is_one = (numbers > 0).sum(dim=-1) <= tokens_per_image

    def of_one_image(batch_idx: Any, head_idx: Any, q_idx: Any, kv_idx: Any) -> Any:
        known = kv_idx < numbers.shape[1]
        number, other = numbers[batch_idx, torch.where(known, kv_idx, 0)], numbers[batch_idx, q_idx]
        is_near = is_one[batch_idx] & (torch.abs(kv_idx - q_idx) <= tokens_per_image)
        return known & (number > 0) & (other > 0) & (is_near | (number == other))

    return of_one_image


_LOST = "token_type_ids = getattr(model_input, 'token_type_ids', None)"
_HANDED_ON = f"""
from {__name__} import types_for_mask
token_type_ids = types_for_mask(self, model_inputs, attention_mask)
"""

FIX.edits((PREPARE, RELEASES), fingerprint_of=(MASK, PREPARE), old=_LOST, new=_HANDED_ON)


def types_for_mask(model: Any, inputs: dict[str, Any], attention_mask: torch.Tensor) -> Optional[torch.Tensor]:
    """The types of tokens, int64, of shape (batch, tokens), if the mask of a model needs them; else None.

    Args:
        model: the model that generates.
        inputs: the inputs of this step.
        attention_mask: of shape (batch, tokens up to here).
    """
    types = inputs.get("token_type_ids")
    if types is None or types.shape != attention_mask.shape or not scope.is_in_place(FIX.id, MASK):
        return None
    gemma3 = sys.modules[_gemma3.MODELING].Gemma3ForConditionalGeneration  # `MASK` is in place
    mask_of = getattr(model, "create_masks_for_generate", None)
    if getattr(mask_of, "__code__", None) is not gemma3.create_masks_for_generate.__code__:
        return None
    return types if bool((types == 1).any()) else None


@FIX.recognises
def is_broken(mask: ast.FunctionDef, prepare: Optional[ast.FunctionDef] = None) -> bool:
    """Tokens are compared by distance; and `prepare_inputs_for_generation`, if given, has no types for them."""
    compared = [ast.unparse(node) for node in ast.walk(mask) if isinstance(node, ast.Compare)]
    lost = prepare is None or any(ast.unparse(node) == _LOST for node in ast.walk(prepare))
    return lost and "torch.abs(kv_idx - q_idx) <= tokens_per_image" in compared
