"""What the cases of Qwen's vision-language models share: a small model, and token ids with places for images."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from hotfix.proofs.testbed import Testbed

PAD, WORDS, VISION_START, IMAGE, VIDEO = 0, 50, 60, 61, 62


def small(testbed: Testbed, cls: Any, dtype: Optional[torch.dtype] = None, attn: str = "sdpa") -> Any:
    """A small model of a class that has a text and a vision part, whose token ids are those of this module.

    Images are told by ``image_grid_thw`` alone: without pixels the model takes the embeddings of the image tokens.
    """
    config = cls.config_class(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        rope_scaling={"type": "mrope", "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]},
        pad_token_id=PAD,
        vision_start_token_id=VISION_START,
        image_token_id=IMAGE,
        video_token_id=VIDEO,
        vision_config={"depth": 1, "num_heads": 2, "hidden_size": 64, "embed_dim": 32, "out_hidden_size": 64},
    )
    return testbed.model(cls, config, attn=attn, dtype=dtype)


def sentence(testbed: Testbed, parts: Sequence[Any], seed: int = 0) -> list[int]:
    """Token ids of one sample.

    Args:
        testbed: gives the words.
        parts: numbers of words, and ``(IMAGE, tokens)`` or ``(VIDEO, tokens)``.
        seed: other words.
    """
    ids: list[int] = []
    for number, part in enumerate(parts):
        if isinstance(part, int):
            ids += testbed.randint(1, WORDS, part, seed=100 * seed + number).tolist()
        else:
            token, count = part
            ids += [VISION_START] + [token] * count
    return ids


def padded_left(rows: Sequence[Sequence[int]], device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask of a batch, both of shape (rows, longest row)."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([[PAD] * (longest - len(row)) + list(row) for row in rows], device=device)
    mask = torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, mask


def rope_index(
    model: Any,
    ids: torch.Tensor,
    images: Sequence[tuple[int, int, int]] = (),
    videos: Sequence[tuple[int, int, int]] = (),
    seconds: Any = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the method ``get_rope_index`` of any release says.

    Args:
        model: has the method.
        ids: token ids without padding, (batch, tokens).
        images: frames, rows and columns of patches.
        videos: the same.
        seconds: ``second_per_grid_ts``, for each video.

    Returns:
        Positions of shape (3, batch, tokens), and ``rope_deltas``.
    """
    import torch

    told: dict[str, Any] = {
        "mm_token_type_ids": (ids == IMAGE).int() + 2 * (ids == VIDEO).int(),
        "image_grid_thw": torch.tensor(images, device=ids.device) if images else None,
        "video_grid_thw": torch.tensor(videos, device=ids.device) if videos else None,
        "second_per_grid_ts": seconds,
    }
    known = inspect.signature(model.get_rope_index).parameters
    positions, deltas = model.get_rope_index(ids, **{name: value for name, value in told.items() if name in known})
    return positions, deltas
