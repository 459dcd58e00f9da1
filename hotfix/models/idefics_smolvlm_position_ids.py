"""Patches of an image get the positions of their neighbours in Idefics2, Idefics3, SmolVLM and Phi-4-multimodal.

Symptom   Silent. Patches get the position embedding of the row above or the column to the left. Of an image at full
          resolution in float32 that is every patch but the first (4.55.0 to 4.57.6); in bfloat16 it is 3604 of 4900
          with 70 patches a side, 420 of 676 with 26, and none with 32, where it hits some smaller images.
Cause     The place of a patch in the image is a fraction that often falls on the border of two positions. A factor of
          1 - 1e-6, or rounding to the dtype of the pixels, makes it smaller and so moves the patch.
Releases  4.55.0 to 5.20.2; Phi-4-multimodal 5.0.0 to 5.20.2. 5.0.0 dropped the factor, so float32 is right there. All
          of them round but 4.55.1 to 4.55.4, in which all dtypes are as wrong as float32.
Upstream  transformers#40360, transformers#41190, transformers#41374, transformers#47133 (fixed in 5.21.0)
Here      With P positions a side, row r of R has floor(r * P / R), computed with whole numbers. Bitwise equal to
          5.21.0, whose float32 is too coarse for a few images, such as those of 25, 49, 50 and 55 rows with 70
          positions; and to the release where that is right, as in bfloat16 for some images, and for others where
          ``torch.set_default_dtype`` makes borders and fractions agree.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Patches get their neighbours' positions in Idefics2, Idefics3, SmolVLM and Phi-4-multimodal",
    kind="silent",
    upstream=("transformers#40360", "transformers#41190", "transformers#41374", "transformers#47133"),
    fixed_in="5.21.0",
    everyone="positions are rounded the wrong way; where they are right, they stay the same",
    prefilter="fractional_coords_h",
)

# Model, beginning of the names of its classes, and the releases in which positions are wrong.
TABLE = (
    ("idefics2", "Idefics2Vision", ">=4.55.0,<=5.20.2"),
    ("idefics3", "Idefics3Vision", ">=4.55.0,<=5.20.2"),
    ("phi4_multimodal", "Phi4MultimodalVision", ">=5.0.0,<=5.20.2"),
    ("smolvlm", "SmolVLMVision", ">=4.55.0,<=5.20.2"),
)
_TARGETS = tuple(
    (f"transformers.models.{model}.modeling_{model}:{name}Embeddings.forward", releases)
    for model, name, releases in TABLE
)

_WITH_A_FACTOR = "fractional_coords_{side} = {side}_indices / nb_patches_{side} * (1 - 1e-06)"  # 4.x
_ROUNDED = "fractional_coords_{side} = fractional_coords_{side}.to(pixel_values.dtype)"  # 5.x
# The position in whole numbers, then its middle, which no rounding moves over a border. In 4.55.0 the borders are on
# the CPU, wherever the mask is.
_EXACT = """
fractional_coords_{side} = torch.arange(nb_patches_{side}, device=boundaries.device) * self.num_patches_per_side
fractional_coords_{side} = fractional_coords_{side} // nb_patches_{side}.to(boundaries.device)
fractional_coords_{side} = (fractional_coords_{side}.to(torch.float32) + 0.5) / self.num_patches_per_side
"""
# Rows and columns of padding have the last position, and all of them where the first one is hidden, as in the release.
_EXACT_FOR_A_BATCH = """
fractional_coords_{side} = {side}_indices.long()[None, :] + (nb_patches_{side} == 0).long()[:, None]
fractional_coords_{side} = fractional_coords_{side} * self.num_patches_per_side
fractional_coords_{side} = fractional_coords_{side} // nb_patches_{side}.clamp(min=1)[:, None]
fractional_coords_{side} = fractional_coords_{side}.clamp(max=self.num_patches_per_side - 1)
fractional_coords_{side} = (fractional_coords_{side}.to(torch.float32) + 0.5) / self.num_patches_per_side
"""

FIX.edits(
    *_TARGETS,
    old=[form.format(side=side) for form in (_WITH_A_FACTOR, _ROUNDED) for side in "hw"],
    new=[form.format(side=side) for form in (_EXACT, _EXACT_FOR_A_BATCH) for side in "hw"],
    alternatives=True,
    count=2,
)
