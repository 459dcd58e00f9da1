"""Gemma 3 lets the tokens of an image attend to all other images, including later ones.

Symptom   Silent. With several images in a prompt or a training sample, the states of one image, and of all text after
          it, depend on the images that follow.
Cause     Between image tokens attention is bidirectional, and the mask ignores which image a token belongs to.
Releases  4.50.0 to 4.51.3
Upstream  transformers#38053, transformers#38080 (fixed in 4.52.1)
Here      An image is a run of image tokens, as Gemma's processor lays them out, with text between images. Bitwise equal
          to 4.52.1. A row whose images are numbered in ``token_type_ids`` (1, 2, …), as a work-around, keeps the
          comparison of the release, which is right then.
"""

from __future__ import annotations

from hotfix.fix import Fix
from hotfix.models import _gemma3

FIX = Fix(
    title="Gemma 3: image tokens attend to all other images, including later ones",
    kind="silent",
    upstream=("transformers#38053", "transformers#38080"),
    fixed_in="4.52.1",
    everyone="only rows with several images that all have the number 1: the new code tests it",
)

FIX.edits(
    (f"{_gemma3.MODELING}:Gemma3ForConditionalGeneration._update_causal_mask", ">=4.50.0,<=4.51.3"),
    old="token_type_mask = token_type_ids.unsqueeze(1) == token_type_ids.unsqueeze(2)",
    new=f"""
    from {_gemma3.__name__} import image_numbers
    is_numbered = ((token_type_ids != 0) & (token_type_ids != 1)).any(dim=-1, keepdim=True)
    is_one = (token_type_ids == 1).sum(dim=-1, keepdim=True) <= self.config.mm_tokens_per_image
    image_numbers = torch.where(is_numbered | is_one, token_type_ids, image_numbers(token_type_ids))
    token_type_mask = image_numbers.unsqueeze(1) == image_numbers.unsqueeze(2)
    """,
    # In releases that are right, the comparison is not the last word.
    beside="token_type_mask = token_type_mask.unsqueeze(1).to(causal_mask.device, dtype=torch.bool)",
)
