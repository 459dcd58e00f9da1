"""Positions of patches against the row and the column in which they really lie, in images of all sizes.

The matrix compares with 5.21.0; here is the arithmetic, and the releases that were right before.
"""

from __future__ import annotations

from functools import cache

import pytest

from hotfix.models.idefics_smolvlm_position_ids import TABLE
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASE = "tests.fixes.models.vision_positions:before_and_after"
ALL = {model for model, _, _ in TABLE}
IDEFICS = ALL - {"phi4_multimodal"}
# Wrong patches of a square image of 26 x 26 and of 32 x 32 without padding.
FACTOR, BFLOAT16, FLOAT16 = (675, 1023), (420, 0), (555, 0)


@cache
def ran(release):
    result = run(CASE, transformers=release, flash_attn=None, hotfix=False).require().tensors
    return {name: value.tolist() for name, value in result.items()}


def full(release, when, model, dtype):
    return tuple(ran(release)[f"{when}: {model} {side} {dtype}"][1] for side in (26, 32))


@pytest.mark.parametrize(
    ("release", "models", "float32", "bfloat16", "float16"),
    [
        pytest.param("4.55.0", IDEFICS, FACTOR, BFLOAT16, FLOAT16, marks=pytest.mark.slow),
        pytest.param("4.55.4", IDEFICS, FACTOR, FACTOR, FACTOR, marks=pytest.mark.slow),
        ("4.57.6", IDEFICS, FACTOR, BFLOAT16, FLOAT16),
        ("5.20.2", ALL, (0, 0), BFLOAT16, FLOAT16),
    ],
)
def test_patches_have_wrong_positions_before_and_their_own_after(release, models, float32, bfloat16, float16):
    for model in models:
        names = [full(release, "before", model, dtype) for dtype in ("float32", "bfloat16", "float16")]
        assert names == [float32, bfloat16, float16], model
    after = {name: counts for name, counts in ran(release).items() if name.startswith("after: ")}
    assert len(after) == len(ALL) * 2 * 3
    assert after == {name: [0, 0] for name in after}
    touched = {model for model in ALL if ran(release)[f"touched: {model}"]}
    assert touched == models


def test_smaller_images_were_wrong_where_those_of_full_resolution_were_right():
    assert full("5.20.2", "before", "smolvlm", "bfloat16")[1] == 0
    assert ran("5.20.2")["before: smolvlm 32 bfloat16"][0] > 0


@pytest.mark.parametrize("release", ["4.54.1", "5.21.0"])
def test_releases_that_are_right_are_not_touched(release):
    counts = {name: value for name, value in ran(release).items() if not name.startswith("touched: ")}
    assert len(counts) == 2 * len(ALL) * 2 * 3
    assert counts == {name: [0, 0] for name in counts}
    assert not any(ran(release)[f"touched: {model}"] for model in ALL)
