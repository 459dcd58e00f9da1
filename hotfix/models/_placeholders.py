"""The tokens of a text that stand for pictures and videos."""

from __future__ import annotations

from typing import Any


def are_complete(config: Any, ids: Any, images: Any, videos: Any) -> bool:
    """Whether a text has just the tokens, and as many runs of them, that its pictures and videos take.

    Args:
        config: the configuration of a Qwen-VL.
        ids: the tokens (texts, length).
        images: frames, rows and columns of the patches of each picture (pictures, 3); None without pictures.
        videos: the same of each video.
    """
    if ids is None or ids.ndim != 2 or ids.is_floating_point() or (images is None and videos is None):
        return False
    if any(each is not None and each.is_meta for each in (ids, images, videos)):
        return False
    for token, grids in ((config.image_token_id, images), (config.video_token_id, videos)):
        stands = ids == token
        first = stands[:, :1].sum() + (stands[:, 1:] & ~stands[:, :-1]).sum()
        if grids is None:
            grids = ids.new_zeros(0, 3)
        patches = grids.prod(-1).sum() // config.vision_config.spatial_merge_size**2
        # One run each, or, with the time in front of every frame, one for each frame.
        if int(stands.sum()) != int(patches) or int(first) not in (len(grids), int(grids[:, 0].sum())):
            return False
    return True
