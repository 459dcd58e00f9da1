"""Gemma 2 and Gemma 3 past their window: decoding step by step equals reading the text at once."""

from __future__ import annotations

from functools import cache

import pytest

from tests.fixes.models.window_cache import LENGTH, PROMPTS, WINDOW
from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

RELEASES = ["4.51.3", *(pytest.param(name, marks=pytest.mark.slow) for name in ("4.46.3", "4.49.0", "4.50.0"))]


@cache
def ran(release, hotfix):
    case = "tests.fixes.models.window_cache:decoded"
    return run(case, transformers=release, flash_attn=None, hotfix=hotfix).require().tensors


@pytest.mark.parametrize("release", RELEASES)
def test_the_window_has_no_hole(release):
    gaps = ran(release, True)
    assert len(gaps) == len(PROMPTS) * (2 if release >= "4.50" else 1)
    assert {name: bool((gap < 1e-5).all()) for name, gap in gaps.items()} == dict.fromkeys(gaps, True)


@pytest.mark.parametrize("release", RELEASES)
def test_without_hotfix_tokens_past_the_window_are_wrong_after_a_short_prompt(release):
    for name, gap in ran(release, False).items():
        prompt = int(name.rpartition(" ")[2])
        right = (gap < 1e-5).tolist()
        # The step that was given the token at the last place of the window, and those behind it.
        expected = [prompt >= WINDOW or place < WINDOW for place in range(prompt, LENGTH)]
        assert right == expected, name
