"""The page of transcripts: every screen on it fits, and it has every stack and command."""

from __future__ import annotations

import re

from tools import transcripts


def test_every_screen_of_the_page_fits():
    text = transcripts.PAGE.read_text(encoding="utf-8")
    screens = re.findall(r"^(\d+) columns:\n\n```console\n\$ (hotfix [^\n]*)\n(.*?)\n```", text, re.M | re.S)
    of_each = 2 * len(transcripts.COMMANDS) + 1
    assert len(screens) == of_each * len(transcripts.STACKS)
    for width, command, shown in screens:
        assert transcripts.does_not_fit(shown, int(width)) == [], command
    assert all(f"## {heading}\n" in text for heading in transcripts.STACKS)
    assert not re.search(r"/(?:root|home|tmp|work)/", text), "no folder of a machine"


def test_what_does_not_fit_is_said():
    assert transcripts.does_not_fit("x\n" * 39 + "x", 60) == []
    assert transcripts.does_not_fit("x\n" * 40 + "x", 60) == ["41 lines"]
    assert transcripts.does_not_fit("x" * 61, 60) == ["a line of 61 columns"]


def test_a_command_is_shown_as_a_terminal_shows_it(tmp_path):
    shown = transcripts.run(("status",), [], 60, tmp_path)
    assert "\x1b" not in shown
    assert "transformers is not" in shown
    assert transcripts.does_not_fit(shown, 60) == []
