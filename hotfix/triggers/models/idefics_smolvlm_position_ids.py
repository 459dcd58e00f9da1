"""Numbers of patches for which a fraction falls on the wrong side of a border."""

from __future__ import annotations

from functools import cache
from typing import Any

from hotfix.trigger import Call, Trigger
from hotfix.triggers.training._trainer import release

TRIGGER = Trigger(
    "idefics-smolvlm-position-ids",
    when="an image has a number of rows or columns of patches at which positions are rounded wrongly",
    wrong="patches get the positions of their neighbours",
)


@TRIGGER.strikes()
def is_rounded_wrongly(call: Call) -> Any:
    """Some image of the batch has such a number of rows or columns."""
    mask, pixels = call.get("patch_attention_mask"), call["pixel_values"]
    if mask is None:
        return None
    wrong = _wrong(call.owner.num_patches_per_side, pixels.dtype, release().startswith("4."), mask.device)
    rows, columns = mask[:, :, 0].sum(dim=1), mask[:, 0, :].sum(dim=1)
    return (wrong[rows] | wrong[columns]).any()


@cache
def _wrong(side: int, dtype: Any, by_a_factor: bool, device: Any) -> Any:
    """Of each number of patches in a row, whether some of them get another position, bool, of shape (side + 1,)."""
    import torch

    borders = torch.arange(1 / side, 1.0, 1 / side)
    are_wrong = [False]
    for number in range(1, side + 1):
        right = torch.arange(number) * side // number
        if by_a_factor:
            # Of 4.55.1 to 4.55.4 the indices are whole numbers, whatever the dtype of the pixels.
            kind = torch.int64 if release() in ("4.55.1", "4.55.2", "4.55.3", "4.55.4") else dtype
            shares = torch.arange(number, dtype=kind) / torch.tensor(number) * (1 - 1e-6)
        else:
            exact = torch.arange(number, dtype=torch.float32) * (1.0 / torch.tensor(number))
            shares = exact.clamp(max=1.0 - 1e-6).to(dtype)
        are_wrong.append(not torch.equal(right, torch.bucketize(shares, borders, right=True)))
    return torch.tensor(are_wrong, device=device)
