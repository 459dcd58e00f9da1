"""How far the results of two runs of a case are apart: one meaning for `hotfix verify` and for the matrix.

Numbers that are equal are no difference, nor are two NaN, or the same infinity, in one place. A result that only one
of the runs has is a difference like any other, and so is another shape: an infinite one. Dtypes may differ, because
releases differ in whether they cast their logits up; the coarser one tells how far results may be apart.

This module is importable without torch; torch is imported when tensors are compared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["TOLERANCE", "Difference", "difference"]

# A bfloat16 has 8 bits: two releases that order the same operations in another way differ in the last of them.
TOLERANCE: Mapping[str, float] = {"bfloat16": 2e-2, "float16": 4e-3, "float32": 1e-5, "float64": 1e-12}
"""How far tensors of a dtype may be apart, as part of the largest number; those of others must be equal."""


@dataclass(frozen=True)
class Difference:
    """The largest difference between results of the same name.

    Attributes:
        relative: as part of the largest finite number in the other tensor of that name; infinite where a result is
            missing, has another shape, or one has NaN or an infinity where the other has not.
        absolute: the largest that is not measured against anything, which may be one of another name.
        name: of the result that `relative` is about; a sentence where it is missing or has another shape; "" if all
            are equal.
        over: whether any result is further apart than its dtype allows.
    """

    relative: float
    absolute: float
    name: str
    over: bool

    def __bool__(self) -> bool:
        return self.relative > 0


def difference(
    result: Mapping[str, torch.Tensor],
    other: Mapping[str, torch.Tensor],
    tolerance: Mapping[str, float] | None = None,
) -> Difference:
    """Compare what a case returned in two runs.

    Args:
        result: tensors by name, on the CPU.
        other: the same of the run that is right, where one is known to be: relative differences are part of its
            numbers.
        tolerance: for dtypes by name ("bfloat16"), in place of those in `TOLERANCE`.
    """
    import torch

    allowed_by_dtype = {**TOLERANCE, **(tolerance or {})}
    relative, absolute, name, over = 0.0, 0.0, "", False
    for key in sorted({*result, *other}):
        if key not in result or key not in other:
            return Difference(math.inf, math.inf, f"{key}, which only one of them has", True)
        a, b = result[key], other[key]
        if a.shape != b.shape:
            return Difference(math.inf, math.inf, f"{key} of shape {tuple(a.shape)} and {tuple(b.shape)}", True)
        if not a.numel():
            continue
        allowed = max(allowed_by_dtype.get(str(tensor.dtype).partition(".")[2], 0.0) for tensor in (a, b))
        wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
        x, y = a.to(wide), b.to(wide)
        same = (x == y) | (x.isnan() & y.isnan())
        gap = (x - y).abs().nan_to_num(nan=math.inf, posinf=math.inf).masked_fill(same, 0.0).max().item()
        largest = y.abs().nan_to_num(0.0, 0.0, 0.0).max().item()
        here = gap / (largest or 1.0)
        absolute = max(absolute, gap)
        over = over or here > allowed
        if here > relative:
            relative, name = here, key
    return Difference(relative, absolute, name, over)
