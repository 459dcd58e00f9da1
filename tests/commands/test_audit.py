"""``hotfix audit -- COMMAND``: an unchanged command, all its processes, and the bugs triggered in it."""

from __future__ import annotations

import sys

import pytest

from tests.commands.cli_runs import hotfix
from tests.commands.schemas import check

PYTHON = sys.executable


def test_without_anything_watched_there_is_nothing_to_say_and_the_status_is_kept():
    done = hotfix("audit", "--", PYTHON, "-c", "print('mine'); raise SystemExit(3)")
    assert done.status == 3
    assert done.stdout.splitlines()[0] == "mine"
    assert "that hotfix watches" in done.stdout


def test_json_is_alone_on_stdout():
    done = hotfix("audit", "--json", "--", PYTHON, "-c", "print('mine')")
    check("audit", done.json)
    assert "mine" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        ((), 2, "hotfix audit -- python train.py"),
        (("--",), 2, "hotfix audit -- torchrun train.py"),
        (("--", "no-such-program"), 127, "no-such-program"),
        (("here", "python", "train.py"), 2, "python: "),
    ],
)
def test_what_cannot_be_run_is_one_clear_error(words, status, what):
    done = hotfix("audit", *words)
    assert done.status == status
    assert what in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_records_of_another_run_are_not_mixed_with_these(tmp_path):
    (tmp_path / "old.json").write_text("{}")
    done = hotfix("audit", "--records", str(tmp_path), "--", PYTHON, "-c", "pass")
    assert done.status == 2
    assert "records of another run" in done.stderr
