"""Byte-level tokenizers under 5.x: forty awkward texts have the ids of 4.57.6, and of the library `tokenizers`."""

from __future__ import annotations

from functools import cache

import pytest

from hotfix.proofs.processing._tokenizers import LAYOUTS, TEXTS
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASE = "tests.fixes.processing.awkward_texts:ids_by_layout"
EVERY = ["5.0.0", pytest.param("5.3.0", marks=pytest.mark.slow), "5.8.1"]


@cache
def outcomes(release, hotfix):
    return run(CASE, transformers=release, flash_attn=None, hotfix=hotfix).require().tensors


@pytest.mark.parametrize("release", EVERY)
def test_ids_are_those_of_4_57_6_and_of_the_library(release):
    assert (len(TEXTS), len(LAYOUTS)) == (40, 5)
    here, before = outcomes(release, True), outcomes("4.57.6", False)
    for layout in LAYOUTS:
        assert here[f"{layout}: transformers"].shape == (40, 64)
        assert here[f"{layout}: transformers"].equal(here[f"{layout}: tokenizers"]), layout
        assert here[f"{layout}: transformers"].equal(before[f"{layout}: transformers"]), layout


@pytest.mark.slow
@pytest.mark.parametrize(("release", "under_llama"), [("5.0.0", (0, 0)), ("5.3.0", (31, 30)), ("5.8.1", (31, 30))])
def test_without_hotfix_they_are_others(release, under_llama):
    here = outcomes(release, False)
    differ = [
        int((here[f"{layout}: transformers"] != here[f"{layout}: tokenizers"]).any(dim=1).sum()) for layout in LAYOUTS
    ]
    # Granite's and StableLM's class cut otherwise on all of them; GPT-2's says what its file says.
    assert differ == [*under_llama, 4, 7, 0]
