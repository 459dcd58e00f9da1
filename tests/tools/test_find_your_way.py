"""The page for newcomers has a row for every folder and every module at the top of hotfix/ and tools/."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "find-your-way.md").read_text(encoding="utf-8")


def named():
    """The entries of the first column."""
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def tracked(folder):
    """The modules and folders right below a folder, as git knows them."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("not a checkout: git does not know the files")
    parts = [Path(line).relative_to(folder).parts for line in listed.stdout.splitlines()]
    return {f"{folder}/{part[0]}/" if len(part) > 1 else f"{folder}/{part[0]}" for part in parts} - {
        f"{folder}/py.typed"
    }


@pytest.mark.parametrize("folder", ["hotfix", "tools"])
def test_everything_at_the_top_has_a_row(folder):
    there = tracked(folder)
    assert there
    assert sorted(there - set(named())) == []


def test_every_row_resolves_to_an_object():
    assert [name for name in named() if not (ROOT / name).exists()] == []
    assert len(named()) == len(set(named()))


def test_each_change_that_a_newcomer_makes_has_a_paragraph():
    headings = re.findall(r"^## (.*)$", PAGE, re.M)
    assert headings == ["A new fix", "A new switch", "A new command", "A new release", "The parts of `make test`"]


def test_no_file_has_the_marks_of_a_conflict():
    done = subprocess.run(
        ["git", "grep", "-lE", "^(<{7}|>{7}) ", "--", ".", ":!*.json"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode > 1:
        pytest.skip("not a checkout: git does not know the files")
    assert done.stdout == ""
