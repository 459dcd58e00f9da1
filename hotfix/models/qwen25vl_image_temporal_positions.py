"""Qwen2.5-VL applies the seconds between video frames to images.

Symptom   Silent. The temporal position of an image is that of the text before it, multiplied by ``tokens_per_second``.
          Where images and videos come together with ``second_per_grid_ts``, videos get the seconds of others; most
          often the list is too short: ``StopIteration``.
Cause     An image takes an interval between frames from the list that has one for each video.
Releases  5.3.0 to 5.5.3
Upstream  transformers#45325, transformers#45330 (fixed in 5.5.4)
Here      Only videos take them; the interval of an image is 1. Bitwise equal to 5.5.4. A list with an entry for images,
          too, is read as before, and so is everything with a custom ``get_vision_position_ids``.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Qwen2.5-VL applies second_per_grid_ts to images: wrong positions or StopIteration",
    kind="silent",
    upstream=("transformers#45325", "transformers#45330"),
    fixed_in="5.5.4",
    errors=("StopIteration:",),
    everyone="only where the seconds are those of videos alone: the new code tests it",
    order=-1,  # before qwen25vl-second-per-grid-int-truncation changes the expression
)

_READ = """
second_per_grid_ts = (
    iter(second_per_grid_ts) if second_per_grid_ts is not None else iter([1] * input_ids.shape[1])
)
"""
_TAKEN = "time_interval = tokens_per_second * int(next(second_per_grid_ts))"
_TAKEN_FOR_VIDEOS = f"""
if modality_type == 2 or has_seconds_of_images:
    {_TAKEN}
else:
    time_interval = 1
"""
# These lines stay. In releases that are right, the line before them is under a condition.
_AND_THEN = """
vision_position_ids = self.get_vision_position_ids(
    current_pos, grid_thw, 1, spatial_merge_size, time_interval, device=input_ids.device
)
"""

FIX.edits(
    ("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VLModel.get_rope_index", ">=5.3.0,<=5.5.3"),
    old=[_READ, _TAKEN + _AND_THEN],
    new=[
        f"""
import hotfix.models._seconds as _seconds
has_seconds_of_images = _seconds.include_images(
    {FIX.id!r}, self, second_per_grid_ts, video_grid_thw, image_grid_thw
)
{_READ}
""",
        _TAKEN_FOR_VIDEOS + _AND_THEN,
    ],
)
