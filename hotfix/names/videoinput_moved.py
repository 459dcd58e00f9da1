"""``VideoInput`` is gone from ``transformers.image_utils``.

Symptom   ``ImportError: cannot import name 'VideoInput' from 'transformers.image_utils'`` from the processors of
          Keye-VL, MiniCPM-o, VideoLLaMA3 and of forks of Qwen2-VL.
Cause     What is for videos moved to ``transformers.video_utils``; later the image processor of Qwen2-VL, where others
          found it, stopped to import it.
Releases  4.52.1 and later; from the image processor of Qwen2-VL 5.4.0 and later
Upstream  not put back
Here      The union of types that it was in 4.51.3, and in Qwen2-VL that of ``video_utils``, as in 5.3.0.
          ``make_batched_videos``, which moved with it, is not restored: its result is nested in another way.
"""

from __future__ import annotations

from typing import Any, Union

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'VideoInput' from 'transformers.image_utils'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made(("transformers.image_utils:VideoInput", ">=4.52.1"))
def video_input(image_utils: Any) -> Any:
    """For annotations. Not that of `video_utils`, which cannot be imported yet when `image_utils` is."""
    kinds: tuple[Any, ...] = ("PIL.Image.Image", "np.ndarray", "torch.Tensor")
    frames: list[Any] = [list[kind] for kind in kinds]  # type: ignore[valid-type]
    videos: list[Any] = [list[frame_list] for frame_list in frames]  # type: ignore[valid-type]
    members = (frames[0], *kinds[1:], *frames[1:], *videos)
    return Union[members]


@FIX.adds_made(("transformers.models.qwen2_vl.image_processing_qwen2_vl:VideoInput", ">=5.4.0"))
def video_input_of_qwen2_vl(processing: Any) -> Any:
    """The name that the module had imported."""
    from importlib import import_module

    return import_module("transformers.video_utils").VideoInput
