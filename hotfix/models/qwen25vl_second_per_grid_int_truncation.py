"""Qwen2.5-VL rounds the seconds between two frames of a video down to whole ones.

Symptom   Silent. In a video sampled at more than two frames a second, all frames have the same temporal position; with
          fewer, the distance between frames is too short (for 1.9 seconds it is that of one second).
Cause     ``second_per_grid_ts`` is cast to integers before it is multiplied by ``tokens_per_second``, instead of the
          product.
Releases  4.52.1 to 5.17.0
Upstream  transformers#48669 (fixed in 5.18.0)
Here      The product is cast. Bitwise equal to 4.51.3 (up to 5.2.0) and to 5.18.0 (from 5.3.0 on); they multiply in
          another order. Unlike there, seconds in half precision are multiplied in float32, so that whole seconds give
          the same positions as in the release. A custom ``get_vision_position_ids`` is called as before.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Qwen2.5-VL rounds second_per_grid_ts down: video frames get the same temporal position",
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
time_interval = {product}
vision_position_ids = self.get_vision_position_ids(
    current_pos, grid_thw, 1, spatial_merge_size, {interval}, device=input_ids.device
)
"""
# Since 5.5.4, and with qwen25vl-image-temporal-positions, only for videos.
_BY_METHOD_FOR_VIDEOS = """
if {condition}:
    time_interval = {product}
else:
    time_interval = 1
vision_position_ids = self.get_vision_position_ids(
    current_pos, grid_thw, 1, spatial_merge_size, {interval}, device=input_ids.device
)
"""
_ROUNDED = {"product": "tokens_per_second * int(next(second_per_grid_ts))", "interval": "time_interval"}
_CONDITIONS = ("modality_type == 2", "modality_type == 2 or has_seconds_of_images")
_NUMBERED = {"product": "_seconds.product(next(second_per_grid_ts), tokens_per_second)", "interval": "1"}
_MULTIPLIED = """
vision_position_ids[0] = current_pos + _seconds.product(vision_position_ids[0] - current_pos, time_interval).long()
"""
_IMPORT = "import hotfix.models._seconds as _seconds"

FIX.edits(
    ("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VLModel.get_rope_index", ">=4.52.1,<=5.17.0"),
    old=(
        # Up to 5.2.0.
        """
        second_per_grid_t = torch.as_tensor(
            second_per_grid_t, dtype=range_tensor.dtype, device=range_tensor.device
        )
        """,
        _BY_METHOD.format(**_ROUNDED),
        *(_BY_METHOD_FOR_VIDEOS.format(condition=condition, **_ROUNDED) for condition in _CONDITIONS),
    ),
    new=(
        f"""
        {_IMPORT}
        second_per_grid_t = torch.as_tensor(
            second_per_grid_t, dtype=_seconds.dtype(second_per_grid_t, range_tensor.dtype), device=range_tensor.device
        )
        """,
        _IMPORT + _BY_METHOD.format(**_NUMBERED) + _MULTIPLIED,
        *(
            _IMPORT + _BY_METHOD_FOR_VIDEOS.format(condition=condition, **_NUMBERED) + _MULTIPLIED
            for condition in _CONDITIONS
        ),
    ),
    alternatives=True,
    own=("self.get_vision_position_ids",),
)
