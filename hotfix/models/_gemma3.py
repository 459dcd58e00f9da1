"""Shared by the fixes of Gemma 3: the image that each token belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

MODELING = "transformers.models.gemma3.modeling_gemma3"


def image_numbers(token_type_ids: torch.Tensor) -> torch.Tensor:
    """The number of each token's image, from 1; 0 for text. int64, of shape (batch, tokens).

    Args:
        token_type_ids: 1 for image tokens, of the same shape. Each run of them is an image.
    """
    import torch

    is_image = token_type_ids == 1
    begins = is_image & ~torch.nn.functional.pad(is_image, (1, 0))[:, :-1]
    return begins.cumsum(dim=1) * is_image
