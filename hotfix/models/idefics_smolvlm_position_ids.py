"""Patches of an image get the positions of their neighbours in Idefics2, Idefics3, SmolVLM and Phi-4-multimodal.

Symptom   Silent. Patches get the position embedding of the row above or the column to the left. Of an image at full
          resolution in float32 that is every patch but the first (4.55.0 to 4.57.6); in bfloat16 it is 3604 of 4900
          with 70 patches a side, 420 of 676 with 26, and none with 32, where it hits some smaller images.
Cause     Where a patch lies in the image is a fraction that often falls on the border of two positions. Whatever makes
          it smaller moves the patch: a factor of 1 - 1e-6, or rounding to the dtype of the pixels.
Releases  4.55.0 to 5.20.2; Phi-4-multimodal 5.0.0 to 5.20.2. The factor is gone in 5.0.0, where float32 is right. The
          rounding is there in all of them but 4.55.1 to 4.55.4, in which all dtypes are as wrong as float32.
Upstream  transformers#40360, transformers#41190, transformers#41374, transformers#47133 (fixed in 5.21.0)
Here      The fractions are computed in float32, without the factor, and stay in it. Bitwise equal to 5.21.0: with P
          positions a side, row r of R has floor(r * P / R). With 26, 27 and 32 a side that holds for all R up to P;
          with others float32 is too coarse for a few images, such as those of 25, 49, 50 and 55 rows with 70.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.models._towers import TOWER
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="idefics-smolvlm-position-ids",
    title="Patches get their neighbours' positions in Idefics2, Idefics3, SmolVLM and Phi-4-multimodal",
    kind="silent",
    upstream=("transformers#40360", "transformers#41190", "transformers#41374", "transformers#47133"),
    fixed_in="5.21.0",
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

# As 5.21.0 does it, since the last bit decides: times the inverse, not divided. In 4.55.0 the borders are on the CPU,
# wherever the mask is.
_IN_FLOAT32 = """\
fractional_coords_{side} = torch.arange(nb_patches_{side}, device=boundaries.device, dtype=torch.float32)
fractional_coords_{side} = fractional_coords_{side} * (1.0 / nb_patches_{side}.to(boundaries.device))
"""


@FIX.edits(*_TARGETS, count=2)
def fractions_in_float32(node: ast.AST) -> Optional[list[ast.stmt]]:
    """For rows and for columns: replace the fractions that have a factor (4.x), leave out what rounds them (5.x)."""
    if not isinstance(node, ast.Assign):
        return None
    text = ast.unparse(node)
    for side in "hw":
        if text == f"fractional_coords_{side} = {side}_indices / nb_patches_{side} * (1 - 1e-06)":
            return code.statements(_IN_FLOAT32.format(side=side), at=node)
        if text == f"fractional_coords_{side} = fractional_coords_{side}.to(pixel_values.dtype)":
            return []
    return None


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The fractions are multiplied by something smaller than one, or rounded to the dtype of the pixels."""
    return any(fractions_in_float32(node) is not None for node in ast.walk(function))


# -- the case ----------------------------------------------------------------------------------------------------------

SIDE = 26  # patches a side, as in Idefics3: few enough for a small case, and wrong in every dtype
IMAGES = {"full": (1, 26, 26), "flat": (1, 9, 26), "padded": (2, 20, 26)}  # images, rows and columns of patches
PADDED = ((13, 20), (20, 26))  # rows and columns of the patches that are not padding


def tower(testbed: Testbed, module: Any, name: str, dtype: torch.dtype, side: int = SIDE) -> Any:
    """A tiny vision model whose patches are single pixels.

    Args:
        testbed: makes it.
        module: its module.
        name: beginning of the names of its classes, as in the table.
        dtype: of its weights.
        side: patches a side for which it has positions.
    """
    sizes: dict[str, Any] = {**TOWER, "image_size": side, "patch_size": 1}
    if name.startswith("Phi4"):
        sizes["crop_size"] = side
    cls = getattr(module, f"{name}Transformer", None) or getattr(module, f"{name}Model")
    return testbed.model(cls, getattr(module, f"{name}Config")(**sizes), attn="eager", dtype=dtype)


def image(testbed: Testbed, shape: str, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Pixels of one or two images, of shape (images, 3, rows, columns), and which of their patches are no padding."""
    import torch

    images, rows, columns = IMAGES[shape]
    mask = torch.ones(images, rows, columns, dtype=torch.bool, device=testbed.device)
    if shape == "padded":
        for one, (below, right) in zip(mask, PADDED):
            one[below:], one[:, right:] = False, False
    return {"pixel_values": testbed.randn(images, 3, rows, columns, dtype=dtype), "patch_attention_mask": mask}


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Embeddings of images at full resolution, with fewer rows, and with padding; what a model makes of the padded.

    The gradient of the position embedding tells which positions were taken.
    """
    import torch

    module, name = import_module(target.module), target.qualname.partition("Embeddings")[0]
    told = {}
    for dtype in (torch.float32, torch.bfloat16):
        model = tower(testbed, module, name, dtype)
        for shape in IMAGES:
            with torch.no_grad():
                told[f"{shape}, {dtype}"] = model.embeddings(**image(testbed, shape, dtype))
        output = model(**image(testbed, "padded", dtype)).last_hidden_state
        output.float().square().mean().backward()
        told[f"output, {dtype}"] = output
        told[f"gradient, {dtype}"] = model.embeddings.position_embedding.weight.grad
    return told
