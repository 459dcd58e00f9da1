"""Positions in Qwen's vision-language models: wrong before, right after, gone where not needed.

All of it is compared bit by bit, but for flash attention, which computes in bfloat16 and is held against eager
attention in float32: 2 % of the norm, as in test_attention.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest

from hotfix.models import (
    qwen2vl_decode_delta_left_padding,
    qwen2vl_text_position_ids_from_mrope,
    qwen25vl_second_per_grid_int_truncation,
    qwen25vl_v5_temporal_position_collapse,
)
from tests.fixes.models.qwen.positions import RATES, VIDEOS
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.models.qwen.positions"
QWEN2_5_VL = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
BOUND = 2e-2


def target_of(fix, name):
    return next(target for target in fix.targets if f".{name}." in target.module)


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@cache
def ran(case, release, target=None, flash_attn=None, hotfix=False, only=""):
    env = {"HOTFIX_ONLY": only} if only else {}
    result = run(case, transformers=release, hotfix=hotfix, target=target, flash_attn=flash_attn, env=env)
    return result.require()


def before_and_after(case, release, *arguments):
    """Two dictionaries, from one process."""
    tensors = ran(f"{CASES}:{case}", release, *arguments).tensors
    return [
        {name.removeprefix(when): value for name, value in tensors.items() if name.startswith(when)}
        for when in ("before: ", "after: ")
    ]


def off(got, expected):
    return float((got.float() - expected.float()).norm() / expected.float().norm())


# -- qwen2vl-text-position-ids-from-mrope ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "release"), [("qwen2_5_vl", "4.54.0"), ("qwen3_vl", "5.2.0"), slow("qwen2_5_omni", "4.56.2")]
)
def test_an_image_attends_to_the_tokens_before_it(model, release):
    target = target_of(qwen2vl_text_position_ids_from_mrope.FIX, model)
    stock, repaired = before_and_after("masked", release, target, "2.7.4.post1")
    first = ", image first"
    wrong = {f"{name}{where}" for name in ("eager without a mask", "sdpa") for where in ("", first)}
    wrong |= {f"flash{first}", f"flash with a cache{first}"}
    for name in wrong | {"flash", "flash with a cache"}:
        expected = f"eager{first}" if first in name else "eager"
        assert (off(stock[name], stock[expected]) > 0.1) is (name in wrong)
        assert off(repaired[name], repaired[expected]) < (BOUND if "flash" in name else 1e-6)
    for results in (stock, repaired):  # texts that are packed, and say so, stay apart
        assert off(results["packed"], results["apart"]) < 1e-6


@pytest.mark.slow
def test_the_fixed_release_no_longer_keeps_packed_texts_apart():
    target = target_of(qwen2vl_text_position_ids_from_mrope.FIX, "qwen2_5_vl")
    fixed, _ = before_and_after("masked", "4.57.1", target, "2.7.4.post1")
    assert off(fixed["sdpa"], fixed["eager"]) < 1e-6
    assert off(fixed["packed"], fixed["apart"]) > 0.1


# -- qwen2vl-decode-delta-left-padding ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "release"), [("qwen2_5_vl", "4.54.0"), slow("qwen2_vl", "4.56.2")])
def test_a_batch_is_continued_as_each_of_its_prompts_alone(model, release):
    stock, repaired = before_and_after("one_by_one", release, target_of(qwen2vl_decode_delta_left_padding.FIX, model))
    assert repaired["batch"].equal(repaired["alone"])
    assert not stock["batch"].equal(stock["alone"])
    assert stock["alone"].equal(repaired["alone"])


# -- positions of videos: three fixes, of which two edit one function --------------------------------------------------


def different(first, other, names):
    return [name for name in names if name not in first or not first[name].equal(other[name])]


@pytest.mark.parametrize(
    ("release", "oracle"), [("4.52.4", "4.51.3"), slow("5.2.0", "4.51.3"), slow("5.17.0", "5.18.0")]
)
def test_a_video_has_the_temporal_positions_of_its_frame_rate(release, oracle):
    stock, repaired = before_and_after("videos", release)
    right, _ = before_and_after("videos", oracle)
    frames = slice(3, 35)  # temporal positions of 8 frames, behind two words and the start
    assert stock["video, 4.0 a second, list"][frames].unique().numel() == 1
    assert repaired["video, 4.0 a second, list"][frames].unique().numel() == 8
    assert len(right) > 4 * len(RATES)
    assert len(different(stock, right, right)) > 2 * len(RATES)
    assert different(repaired, right, right) == []


@pytest.mark.parametrize("release", ["5.3.0", slow("5.5.3")])
def test_three_fixes_together_equal_the_last_fixed_release(release):
    stock, repaired = before_and_after("videos", release)
    right, _ = before_and_after("videos", "5.18.0")
    assert {name.partition(",")[0] for name in right} - {name.partition(",")[0] for name in stock} == {
        "image and video"
    }
    assert different(stock, right, right) == list(right)
    assert different(repaired, right, right) == []


def test_fixes_of_one_function_are_taken_out_apart():
    qualname = ", ".join(("Qwen2_5_VLModel.get_rope_index", *VIDEOS[:2]))
    target = SimpleNamespace(module=QWEN2_5_VL, qualname=qualname)
    result = run(
        f"{CASES}:applied_and_reverted", transformers="5.3.0", hotfix=False, target=target, flash_attn=None
    ).require()
    names = ("each changes it", "the others stay", "nothing stays", "it stands where it stood")
    assert {name: bool(value) for name, value in result.tensors.items()} == dict.fromkeys(names, True)


# -- where they are not needed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "fix", "model"),
    [
        ("4.57.1", qwen2vl_decode_delta_left_padding.FIX, "qwen2_5_vl"),
        ("5.18.0", qwen25vl_second_per_grid_int_truncation.FIX, "qwen2_5_vl"),
        slow("4.53.3", qwen2vl_text_position_ids_from_mrope.FIX, "qwen2_5_vl"),
        slow("5.6.0", qwen25vl_v5_temporal_position_collapse.FIX, "qwen2_vl"),
    ],
)
def test_a_neighbouring_release_is_left_exactly_as_it_is(release, fix, model):
    target = target_of(fix, model)
    result = ran("tools.probes:untouched", release, target, None, True, fix.id)
    counts = {name: int(count) for name, count in result.tensors.items()}
    assert counts.pop("functions") > 0
    assert set(counts.values()) == {0}
    rows = [row for row in result.report["outcomes"] if (row["fix"], row["target"]) == (fix.id, str(target))]
    assert [(row["verdict"], row["state"]) for row in rows] == [("fixed", "skipped")]
