"""Seconds between the frames of videos: whose they are, and how they are multiplied.

Half precision has no whole numbers beyond 256 or 2048, so positions are not computed in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.patching import scope

if TYPE_CHECKING:
    import torch


def product(numbers: Any, factor: Any) -> Any:
    """``numbers * factor``, in float32 where the product would be an integer or in half precision.

    Args:
        numbers: a tensor, or a number: then it is plain multiplication.
        factor: a tensor that is not in half precision, or a number.
    """
    import torch

    if not isinstance(numbers, torch.Tensor):
        return _number(numbers) * _number(factor)
    factor = factor if isinstance(factor, torch.Tensor) else _number(factor)
    return numbers.to(torch.promote_types(torch.result_type(numbers, factor), torch.float32)) * factor


def _number(value: Any) -> Any:
    """A number that torch can multiply with: the release takes whatever ``int`` does."""
    return value if isinstance(value, (int, float)) or hasattr(value, "dtype") else float(value)


def dtype(seconds: Any, otherwise: torch.dtype) -> torch.dtype:
    """The dtype in which seconds are multiplied: their own, but never an integer or half precision.

    Args:
        seconds: a tensor, or a number.
        otherwise: the release's dtype, for anything else: it refuses the numbers of other libraries.
    """
    import torch

    if not isinstance(seconds, (torch.Tensor, int, float)):
        return otherwise
    own = seconds.dtype if isinstance(seconds, torch.Tensor) else torch.get_default_dtype()
    return torch.promote_types(own, torch.float32)


def include_images(fix: str, model: Any, seconds: Any, videos: Any, images: Any = None) -> bool:
    """Whether a program counts images among what has seconds, or counts positions itself.

    Args:
        fix: id of the fix that asks.
        model: has ``get_vision_position_ids``.
        seconds: None, or an entry for each video; with one for each image, there are more.
        videos: None, or the sizes of videos, one row for each.
        images: the same of images. With them the release takes more seconds than there are, which ends in a
            StopIteration that the program may handle.
    """
    if not scope.is_own(fix, model, "get_vision_position_ids"):
        return True
    if seconds is None:
        return False
    if not hasattr(seconds, "__len__") or len(seconds) != (0 if videos is None else len(videos)):
        return True
    return images is not None and scope.is_handled_around(fix, StopIteration)
