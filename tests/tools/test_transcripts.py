"""The page of transcripts: it has every story, and each screen fits."""

from __future__ import annotations

import re

from tests.facts import lacking
from tools import transcripts


def test_every_screen_of_the_page_fits():
    text = transcripts.PAGE.read_text(encoding="utf-8")
    for story in transcripts.STORIES:
        part = text.partition(f"## {story.title}\n")[2].partition("\n## ")[0]
        screens = re.findall(r"^```console\n\$ ([^\n]*)\n(.*?)```\n\n\*[\d.]+ s\*$", part, re.M | re.S)
        assert story.thought
        assert story.thought in part
        assert [command for command, _ in screens] == [step.command for step in story.steps]
        for command, shown in screens:
            rows = sum(max(1, -(-len(line) // transcripts.WIDTHS[0])) for line in shown.splitlines())
            assert rows <= transcripts.LINES, command
    assert not re.search(r"/(?:root|home|tmp|work)/", text), "no folder of a machine"


def test_code_that_does_not_fit_is_reported():
    assert transcripts.does_not_fit("x\n" * 39 + "x", 60) == []
    assert transcripts.does_not_fit("x\n" * 40 + "x", 60) == ["41 lines"]
    assert [lacking(text, "61 columns") for text in transcripts.does_not_fit("x" * 61, 60)] == [[]]


def test_a_command_is_shown_as_a_terminal_shows_it(tmp_path):
    shown = transcripts.run(("status",), [], 60, tmp_path)
    assert "\x1b" not in shown
    assert "transformers is not" in shown
    assert transcripts.does_not_fit(shown, 60) == []
