"""Vision towers of Qwen-VL do not have the methods any more that compute positions and windows.

Symptom   ``AttributeError: 'Qwen2_5_VisionTransformerPretrainedModel' object has no attribute 'rot_pos_emb'`` from a
          patched forward (pruned tokens, sequence parallelism, video streams); the same of ``get_window_index`` and of
          ``fast_pos_embed_interpolate`` (Qwen3-VL).
Cause     ``transformers.vision_utils`` has functions instead.
Releases  5.17.0 and later
Upstream  transformers#48105 (not put back)
Here      The results of 5.16, without its warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix

if TYPE_CHECKING:
    import torch

FIX = Fix(
    title="AttributeError: 'Qwen2_5_VisionTransformerPretrainedModel' object has no attribute 'rot_pos_emb'",
    kind="removed-api",
    upstream=("transformers#48105",),
    group="removed-names",
    errors=tuple(
        f"AttributeError: '…' object has no attribute '{name}'"
        for name in ("rot_pos_emb", "get_window_index", "fast_pos_embed_interpolate")
    ),
)

TOWERS = """
    qwen2_5_omni:Qwen2_5OmniVisionEncoder qwen2_5_vl:Qwen2_5_VisionTransformerPretrainedModel
    qwen2_vl:Qwen2VisionTransformerPretrainedModel
"""
WITH_GRID = """
    qwen3_5:Qwen3_5VisionModel qwen3_5_moe:Qwen3_5MoeVisionModel qwen3_omni_moe:Qwen3OmniMoeVisionEncoder
    qwen3_vl:Qwen3VLVisionModel qwen3_vl_moe:Qwen3VLMoeVisionModel
"""
"""Those that have positions in a learned grid as well."""
WITH_WINDOWS = "qwen2_5_omni:Qwen2_5OmniVisionEncoder qwen2_5_vl:Qwen2_5_VisionTransformerPretrainedModel"


def _targets(towers: str, method: str) -> list[tuple[str, str]]:
    places = (tower.partition(":") for tower in towers.split())
    return [(f"transformers.models.{at}.modeling_{at}:{name}.{method}", ">=5.17.0") for at, _, name in places]


@FIX.adds(*_targets(TOWERS + WITH_GRID, "rot_pos_emb"))
def rot_pos_emb(self: Any, grid_thw: torch.Tensor) -> torch.Tensor:
    """The angles of the patches.

    Args:
        self: the tower.
        grid_thw: frames, rows and columns of each image or video (images, 3).

    Returns:
        (patches, half of a head's width): first those of the rows, then those of the columns.
    """
    from transformers.vision_utils import get_vision_position_ids

    places = get_vision_position_ids(grid_thw, self.spatial_merge_size)
    frequencies = self.rotary_pos_emb.inv_freq
    return (places.to(frequencies.device)[..., None] * frequencies).flatten(1)


@FIX.adds(*_targets(WITH_WINDOWS, "get_window_index"))
def get_window_index(self: Any, grid_thw: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """The order of the patches by windows, and the ends of the windows.

    Args:
        self: the tower.
        grid_thw: frames, rows and columns of each image or video (images, 3).
    """
    from transformers.vision_utils import get_vision_window_index

    sizes = {name: getattr(self, name) for name in ("spatial_merge_size", "window_size", "patch_size")}
    order, ends = get_vision_window_index(grid_thw, **sizes)
    return order, ends.tolist()


@FIX.adds(*_targets(WITH_GRID, "fast_pos_embed_interpolate"))
def fast_pos_embed_interpolate(self: Any, grid_thw: torch.Tensor) -> torch.Tensor:
    """The embeddings of the positions, between those of the learned grid (patches, width).

    Args:
        self: the tower.
        grid_thw: frames, rows and columns of each image or video (images, 3).
    """
    from transformers.vision_utils import get_vision_interpolation_indices_and_weights

    between = {name: getattr(self, f"interpolation_{name}") for name in ("mode", "align_corners")}
    sizes = {"num_grid_per_side": self.num_grid_per_side, "spatial_merge_size": self.config.spatial_merge_size}
    neighbours, weights = get_vision_interpolation_indices_and_weights(grid_thw, **sizes, **between)
    return (self.pos_embed(neighbours) * weights[..., None]).sum(1)
