"""The positions of a text with pictures and videos, without the types of its tokens."""

import inspect
from typing import Any

import torch

from hotfix.models.qwenvl_v5_token_types_left_out import FIX
from hotfix.proofs import zoo
from hotfix.proofs.models._positions import without_weights
from hotfix.proofs.testbed import Target, Testbed

_IMAGES, _VIDEOS = torch.tensor([[1, 4, 6], [1, 2, 2]]), torch.tensor([[2, 4, 4]])


@FIX.case(
    oracles={"*": "5.2.0"},
    with_fixes=(
        "qwen25vl-v5-temporal-position-collapse",
        "qwen25vl-image-temporal-positions",
        "qwen3vl-v5-video-stopiteration",
    ),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A text of two pictures, of a video, or of both, and one without any; padded on the left, as in `generate`."""
    model = without_weights(testbed, zoo.class_of(target))
    frames = [[zoo.QWEN_VIDEO] * 4, [zoo.QWEN_VIDEO] * 4]
    video = [frames[0], frames[1]] if "Qwen3" in target.qualname else [frames[0] + frames[1]]
    pictures = {"parts": [[zoo.QWEN_IMAGE] * 6, [zoo.QWEN_IMAGE]], "image_grid_thw": _IMAGES}
    calls = {
        "pictures": pictures,
        "video": {"parts": video, "video_grid_thw": _VIDEOS},
        "both": {"parts": [*pictures["parts"], *video], "image_grid_thw": _IMAGES, "video_grid_thw": _VIDEOS},
    }
    if target.qualname.startswith("Qwen2_5"):  # from 5.3 on it counts the frames of videos otherwise
        del calls["video"], calls["both"]
    return {name: _positions(model, target, **call) for name, call in calls.items()}


def _positions(model: Any, target: Target, parts: Any, types: bool = False, **grids: Any) -> torch.Tensor:
    row = [5, 6]
    for part in parts:
        row += [60, *part, 63, 7]
    ids, mask = zoo.qwen_padded_left([row, [8, 9, 10]], "cpu")
    if types:
        grids["mm_token_type_ids"] = (ids == zoo.QWEN_IMAGE).int() + 2 * (ids == zoo.QWEN_VIDEO).int()
    if target.qualname.endswith("_prepare_position_ids_for_generation"):
        given = {"input_ids": ids, "attention_mask": mask, **grids}
        result: torch.Tensor = model._prepare_position_ids_for_generation(ids, given)[1:]
        return result
    known = inspect.signature(model.compute_3d_position_ids).parameters
    given = {"input_ids": ids, "attention_mask": mask, "inputs_embeds": torch.zeros(*ids.shape, 8), **grids}
    positions = model.compute_3d_position_ids(**{name: given.get(name) for name in known})
    return torch.empty(0) if positions is None else positions
