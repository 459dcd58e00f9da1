"""Generation with Qwen2-VL and Qwen2.5-VL is wrong for every prompt that is padded on the left.

Symptom   Silent. In a batch, all prompts but the longest are continued with other tokens than alone, with and without
          images. Benchmarks that generate in batches lose accuracy.
Cause     From the second token on, the positions are where a token stands in its row plus ``rope_deltas``, which take
          the padding off. They are added to positions from which the padding was taken off before.
Releases  4.54.0 to 4.56.2
Upstream  transformers#40490 (fixed in 4.57.0)
Here      ``rope_deltas`` are added to where the token stands in its row. Bitwise equal to 4.57.1.
"""

from __future__ import annotations

import ast
from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.models import _qwen
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="qwen2vl-decode-delta-left-padding",
    title="Qwen2-VL and Qwen2.5-VL generate with wrong positions for prompts that are padded on the left",
    kind="silent",
    upstream=("transformers#40136", "transformers#40490"),
    fixed_in="4.57.0",
    prefilter="delta = self.model.rope_deltas",
)

PREPARE = "ForConditionalGeneration.prepare_inputs_for_generation"
TABLE = (
    (f"transformers.models.qwen2_vl.modeling_qwen2_vl:Qwen2VL{PREPARE}", ">=4.54.0,<=4.56.2"),
    (f"transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VL{PREPARE}", ">=4.54.0,<=4.56.2"),
)

_WITHOUT_PADDING = "position_ids = model_inputs['position_ids'][None, ...]"
_IN_THE_ROW = "position_ids = model_inputs['cache_position'].expand_as(model_inputs['position_ids'])[None, ...]"


@FIX.edits(*TABLE)
def counted_with_padding(node: ast.AST) -> Optional[list[ast.stmt]]:
    """What ``rope_deltas`` are added to becomes the place in the row, the same for all rows."""
    if not isinstance(node, ast.Assign) or ast.unparse(node) != _WITHOUT_PADDING:
        return None
    return code.statements(_IN_THE_ROW, at=node)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """``rope_deltas`` are added to positions without padding."""
    return any(counted_with_padding(node) is not None for node in ast.walk(function))


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Three prompts of different length, two with an image, are continued by four tokens.

    Returns:
        ``tokens`` of shape (3, 4) and their ``logits`` of shape (3, 4, 64).
    """
    import torch

    cls = getattr(import_module(target.module), target.qualname.partition(".")[0])
    model = _qwen.small(testbed, cls, dtype=torch.float32)
    return generated(model, *prompts(testbed))


PROMPTS = ((3, (_qwen.IMAGE, 6), 4), (5,), (1, (_qwen.IMAGE, 4), 2))
GRIDS = ((1, 4, 6), (1, 4, 4))  # of the two images: frames, rows and columns of patches, of which 2 x 2 are a token


def prompts(testbed: Testbed) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Token ids, attention mask and ``image_grid_thw``."""
    import torch

    rows = [_qwen.sentence(testbed, parts, seed) for seed, parts in enumerate(PROMPTS)]
    return *_qwen.padded_left(rows, testbed.device), torch.tensor(GRIDS, device=testbed.device)


def generated(model: Any, ids: torch.Tensor, mask: torch.Tensor, grids: Any) -> dict[str, torch.Tensor]:
    """What a model generates greedily."""
    import torch

    output = model.generate(
        input_ids=ids,
        attention_mask=mask,
        image_grid_thw=grids,
        max_new_tokens=4,
        do_sample=False,
        output_logits=True,
        return_dict_in_generate=True,
    )
    return {"tokens": output.sequences[:, ids.shape[1] :], "logits": torch.stack(output.logits, dim=1)}
