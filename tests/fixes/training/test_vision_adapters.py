"""Adapters in the tower of a Qwen2-VL: under reentrant checkpointing they get the gradients that they get without."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASE = "tests.fixes.training.vision_adapters:of_qwen2_vl"


def gradients(release, hotfix):
    """Those with checkpointing, and those without, by number."""
    tensors = run(CASE, transformers=release, flash_attn=None, hotfix=hotfix).require().tensors
    assert tensors["checkpointed: logits"].equal(tensors["not: logits"])
    ways = ("checkpointed: gradient ", "not: gradient ")
    runs = [{name[len(way) :]: gradient for name, gradient in tensors.items() if name.startswith(way)} for way in ways]
    assert len(runs[0]) == len(runs[1]) == 3  # two blocks of text, one of the tower
    assert all(gradient.abs().max() > 0 for gradient in runs[1].values())
    return runs


@pytest.mark.parametrize("release", [pytest.param("4.49.0", marks=pytest.mark.slow), "4.57.6"])
def test_they_get_them(release):
    checkpointed, not_checkpointed = gradients(release, True)
    for number, gradient in checkpointed.items():
        other = not_checkpointed[number]
        assert (gradient - other).norm() <= 1e-6 * other.norm(), number


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.49.0", "4.57.6"])
def test_without_hotfix_the_tower_gets_none(release):
    checkpointed, not_checkpointed = gradients(release, False)
    lost = [number for number, gradient in checkpointed.items() if not gradient.any()]
    assert len(lost) == 1
    assert not_checkpointed[lost[0]].any()
