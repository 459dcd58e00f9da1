"""The picture of the page about audits."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tools import story

pytestmark = pytest.mark.testbed


def test_the_picture_has_a_line_and_a_name_for_each_run():
    root = ET.fromstring(story.draw([(run, [4.0 + number, 3.0, 2.5]) for number, run in enumerate(story.RUNS)]))
    lines = [element for element in root.iter() if element.tag.endswith("polyline")]
    names = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert len(lines) == 2 * len(story.RUNS)
    assert {run.name for run in story.RUNS} <= set(names)
    assert {"0", "4", "8"} <= set(names)  # the loss


@pytest.mark.slow
def test_the_picture_matches_the_runs():
    assert story.main(["--check"]) == 0
