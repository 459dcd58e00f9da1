"""The result of Gemma 3 for an image does not depend on later images."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.models.gemma3_images"
IDS = "gemma3-bidirectional-across-images,gemma3-mask-image-distance-heuristic"


def ran(case, release, hotfix=True):
    env = {"HOTFIX_ONLY": IDS} if hotfix else {}
    return run(f"{CASES}:{case}", transformers=release, flash_attn=None, hotfix=hotfix, env=env)


@pytest.mark.parametrize(
    ("release", "hotfix", "apart"),
    [
        ("4.50.0", False, False),
        ("4.50.0", True, True),
        ("4.51.3", True, True),
        ("4.52.4", True, True),
        ("4.53.3", False, False),
        ("4.53.3", True, True),
    ],
)
def test_another_second_image_changes_nothing_before_it(release, hotfix, apart):
    result = ran("second_image_exchanged", release, hotfix).require()
    logits = result.tensors
    assert logits["one, before"].equal(logits["another, before"]) == apart
    assert not logits["one, from there on"].equal(logits["another, from there on"])


def test_generation_from_a_cache_of_fixed_length_reads_images_as_the_fixed_release_does():
    stock, repaired, fixed, stranger = (
        ran(case, release, hotfix).require().tensors["logits"]
        for case, release, hotfix in (
            ("generated", "4.53.3", False),
            ("generated", "4.53.3", True),
            ("generated", "4.54.0", False),
            ("generated_with_a_strangers_mask", "4.53.3", False),
        )
    )
    assert repaired.equal(fixed)
    assert (stock - fixed).abs().max() > 0.1
    assert stranger.equal(stock)  # without the types it is wrong; with them it would raise an IndexError
