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

from hotfix.fix import Fix

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

# Since 5.3.0 a method makes the positions, and takes whole intervals only: here it numbers the frames, and the numbers
# are multiplied afterwards.
_BY_METHOD = """
time_interval = tokens_per_second * {seconds}
vision_position_ids = self.get_vision_position_ids(
    current_pos, grid_thw, 1, spatial_merge_size, {interval}, device=input_ids.device
)
"""
# Since 5.5.4, and with qwen25vl-image-temporal-positions, only for videos.
_BY_METHOD_FOR_VIDEOS = """
if modality_type == 2:
    time_interval = tokens_per_second * {seconds}
else:
    time_interval = 1
vision_position_ids = self.get_vision_position_ids(
    current_pos, grid_thw, 1, spatial_merge_size, {interval}, device=input_ids.device
)
"""
_ROUNDED = {"seconds": "int(next(second_per_grid_ts))", "interval": "time_interval"}
_NUMBERED = {"seconds": "next(second_per_grid_ts)", "interval": "1"}
_MULTIPLIED = "vision_position_ids[0] = current_pos + ((vision_position_ids[0] - current_pos) * time_interval).long()"

FIX.edits(
    ("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VLModel.get_rope_index", ">=4.52.1,<=5.17.0"),
    old=(
        "torch.as_tensor(second_per_grid_t, dtype=range_tensor.dtype, device=range_tensor.device)",  # up to 5.2.0
        _BY_METHOD.format(**_ROUNDED),
        _BY_METHOD_FOR_VIDEOS.format(**_ROUNDED),
    ),
    new=(
        "torch.as_tensor(second_per_grid_t, device=range_tensor.device)",
        _BY_METHOD.format(**_NUMBERED) + _MULTIPLIED,
        _BY_METHOD_FOR_VIDEOS.format(**_NUMBERED) + _MULTIPLIED,
    ),
    alternatives=True,
)
