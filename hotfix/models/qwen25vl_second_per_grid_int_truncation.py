"""Qwen2.5-VL rounds the seconds between two frames of a video down to whole ones.

Symptom   Silent. In a video that is sampled with more than two frames a second, all frames have the same temporal
          position; with fewer, the distance between frames is too short (for 1.9 seconds it is that of one second).
Cause     ``second_per_grid_ts`` is cast to integers before it is multiplied by ``tokens_per_second``, instead of the
          product.
Releases  4.52.1 to 5.17.0
Upstream  transformers#48669 (fixed in 5.18.0)
Here      The product is cast. Bitwise equal to 4.51.3 (up to 5.2.0) and to 5.18.0 (from 5.3.0 on); they multiply in
          another order.
"""

from __future__ import annotations

import ast
import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix
from hotfix.models import _qwen
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="qwen25vl-second-per-grid-int-truncation",
    title="Qwen2.5-VL rounds the seconds between two frames of a video down to whole ones",
    kind="silent",
    upstream=("transformers#48669",),
    fixed_in="5.18.0",
    prefilter="second_per_grid_t",
    exempt={
        "transformers.models.exaone4_5.modeling_exaone4_5:Exaone4_5_Model.get_rope_index": (
            "a leftover of Qwen2.5-VL, gone in 5.11.0: the text part takes one row of positions"
        )
    },
)

QWEN2_5_VL = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"

_CAST = "torch.as_tensor(second_per_grid_t, dtype=range_tensor.dtype, device=range_tensor.device)"
_UNCAST = "torch.as_tensor(second_per_grid_t, device=range_tensor.device)"
_ROUNDED = "int(next(second_per_grid_ts))"
_POSITIONS = (
    "vision_position_ids = self.get_vision_position_ids("
    "current_pos, grid_thw, 1, spatial_merge_size, time_interval, device=input_ids.device)"
)
# That method takes whole intervals only: here it numbers the frames, and the numbers are multiplied afterwards.
_MULTIPLIED = f"""\
{_POSITIONS.replace("time_interval", "1")}
vision_position_ids[0] = current_pos + ((vision_position_ids[0] - current_pos) * time_interval).long()
"""


@FIX.edits((f"{QWEN2_5_VL}:Qwen2_5_VLModel.get_rope_index", ">=4.52.1,<=5.17.0"))
def product_is_cast(node: ast.AST) -> Any:
    """Up to 5.2.0, no dtype is asked for. Later, the seconds are not cast, and the frames are multiplied here."""
    if isinstance(node, ast.Call) and ast.unparse(node) == _CAST:
        return _expression(_UNCAST, node)
    if isinstance(node, ast.If) and ast.unparse(node.test) == "modality_type == 0":
        editor = code.Editor(_not_rounded)
        branches = editor.visit(copy.deepcopy(node))
        return branches if editor.matches == 2 else None
    return None


def _not_rounded(node: ast.AST) -> Any:
    if isinstance(node, ast.Call) and ast.unparse(node) == _ROUNDED:
        return node.args[0]
    if isinstance(node, ast.Assign) and ast.unparse(node) == _POSITIONS:
        return code.statements(_MULTIPLIED, at=node)
    return None


def _expression(text: str, at: ast.AST) -> ast.expr:
    [statement] = code.statements(text, at=at)
    assert isinstance(statement, ast.Expr)
    return statement.value


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The seconds are cast."""
    return any(product_is_cast(node) is not None for node in ast.walk(function))


@FIX.case(with_fixes=("qwen25vl-v5-temporal-position-collapse",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions of a video of 4 frames at several rates; nothing follows it, since 5.3.0 continues elsewhere."""
    import torch

    model = _qwen.small(testbed, getattr(import_module(target.module), target.qualname.partition(".")[0]))
    ids = torch.tensor([_qwen.sentence(testbed, [3, (_qwen.VIDEO, 16)])]).to(testbed.device)
    told = {}
    for seconds in (0.5, 1.0, 1.25, 2.0):
        positions, deltas = _qwen.rope_index(model, ids, videos=((4, 4, 4),), seconds=[seconds])
        told[f"{seconds}: positions"] = positions
        told[f"{seconds}: deltas"] = deltas
    return told
