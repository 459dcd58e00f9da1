"""A recording of more than half a minute, in the pipeline that people call: its times go on from window to window."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASE = "tests.fixes.processing.recordings:times"


def times(release, hotfix):
    return run(CASE, transformers=release, flash_attn=None, hotfix=hotfix).require().tensors["times"]


@pytest.mark.parametrize("release", [pytest.param("4.37.0", marks=pytest.mark.slow), "4.52.4"])
def test_they_are_those_of_4_53(release):
    stamps = times(release, True)
    assert stamps.equal(times("4.53.0", False))
    assert (stamps[:, 0].diff() > 0).all()
    assert (stamps[:, 1] >= stamps[:, 0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("release", ["4.37.0", "4.52.4"])
def test_without_hotfix_they_begin_again(release):
    assert (times(release, False)[:, 0].diff() < 0).any()
