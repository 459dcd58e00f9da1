"""All frames of a video have the same temporal position in Qwen2-VL, Qwen2.5-VL and Ernie 4.5 VL.

Symptom   Silent. The model cannot tell the order of frames: all of them have one temporal position, which is even a
          multiple of that of the text before where a video has several seconds between frames. The rows of the second
          and later frames are mixed up, too.
Cause     The first position of an image or a video is multiplied by the interval between frames, instead of the number
          of the frame; the rows are repeated for all frames before they are counted.
Releases  5.3.0 to 5.5.4. Ten other models have the same method, and ask it for one frame at a time: that is right.
Upstream  transformers#45381, transformers#45400 (fixed in 5.6.0)
Here      The positions are recomputed: time, row and column of each token, counted from the first position, time in
          steps of the interval. Bitwise equal to 5.6.0.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Optional, Union

from hotfix.fix import Fix

if TYPE_CHECKING:
    import torch

_FRAME_BY_FRAME = (
    ("glm46v", "Glm46VModel"),
    ("glm4v", "Glm4vModel"),
    ("glm4v_moe", "Glm4vMoeModel"),
    ("glm_ocr", "GlmOcrModel"),
    ("qwen3_5", "Qwen3_5Model"),
    ("qwen3_5_moe", "Qwen3_5MoeModel"),
    ("qwen3_vl", "Qwen3VLModel"),
    ("qwen3_vl_moe", "Qwen3VLMoeModel"),
)
_IMAGES_ONLY = (("glm_image", "GlmImageModel"), ("paddleocr_vl", "PaddleOCRVLModel"))

FIX = Fix(
    title="Qwen2-VL, Qwen2.5-VL, Ernie 4.5 VL: all frames of a video have the same temporal position",
    kind="silent",
    upstream=("transformers#45381", "transformers#45400"),
    fixed_in="5.6.0",
    own=("self.get_vision_position_ids",),
    prefilter="position_temporal * time_interval",
    exempt={
        f"transformers.models.{package}.modeling_{package}:{owner}.get_vision_position_ids": why
        for why, models in (
            ("its frames are apart from each other, and it calls the method for one frame at a time", _FRAME_BY_FRAME),
            ("it reads images only", _IMAGES_ONLY),
        )
        for package, owner in models
    },
)


def _model(name: str, owner: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{owner}.get_vision_position_ids", ">=5.3.0,<=5.5.4"


TABLE = (
    _model("ernie4_5_vl_moe", "Ernie4_5_VLMoeModel"),
    _model("qwen2_5_vl", "Qwen2_5_VLModel"),
    _model("qwen2_vl", "Qwen2VLModel"),
)


@FIX.replaces(*TABLE, when="grid_thw[0].item() // temp_merge_size > 1 or start_position * (time_interval - 1)")
def get_vision_position_ids(
    self: Any,
    start_position: int,
    grid_thw: torch.Tensor,
    temp_merge_size: int = 1,
    spatial_merge_size: int = 1,
    time_interval: int = 1,
    device: Optional[Union[str, torch.device]] = None,
) -> torch.Tensor:
    """Time, row and column of each token of an image or a video, int64, of shape (3, tokens).

    Args:
        self: the model.
        start_position: added to all of them.
        grid_thw: frames, rows and columns of patches.
        temp_merge_size: frames of patches in one of tokens.
        spatial_merge_size: rows, and columns, of patches in one of tokens.
        time_interval: between two frames of tokens.
        device: of the result.
    """
    frames = torch.arange(grid_thw[0].item() // temp_merge_size, device=device)
    rows = torch.arange(grid_thw[1].item() // spatial_merge_size, device=device)
    columns = torch.arange(grid_thw[2].item() // spatial_merge_size, device=device)
    frames, rows, columns = torch.meshgrid(frames, rows, columns, indexing="ij")
    return torch.stack([frames * time_interval, rows, columns]).flatten(1) + start_position


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """The temporal positions are one number, times the interval."""
    assigned = [ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.Assign)]
    one_number = any(
        line.startswith("position_temporal = torch.full((image_seq_length,), start_position") for line in assigned
    )
    return one_number and "position_temporal = position_temporal * time_interval" in assigned
