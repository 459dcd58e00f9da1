"""The screens of `hotfix scan` and `hotfix list`: the verdict and the advice first, in 40 lines."""

from __future__ import annotations

import pytest

from hotfix.commands import bugs
from tests.commands.cli_runs import hotfix
from tests.facts import lacking
from tools import transcripts

pytestmark = pytest.mark.drawn(4)  # a process for each case

LINES = 40


def lines_of(*words, cwd, width=80):
    return transcripts.run(words, [], width, cwd).split("\n")


@pytest.fixture
def pins(tmp_path):
    (tmp_path / "requirements.txt").write_text("transformers==4.54.0\n")
    (tmp_path / "requirements-dev.txt").write_text("transformers>=4.48\ntorch\n")
    return tmp_path


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("files", [1, 2, 30, 100])
def test_a_scan_is_at_most_one_screen_and_begins_with_verdict_and_advice(tmp_path, files, width):
    names = [f"requirements-{number}.txt" for number in range(files)]
    for name in names:
        (tmp_path / name).write_text("transformers==4.54.0\n")
    shown = lines_of("scan", *names, cwd=tmp_path, width=width)
    assert len(shown) <= LINES
    assert max(map(len, shown)) <= width
    text = " ".join(shown)
    assert text.index("known bugs") < text.index("Add transformers-hotfix")


def test_a_scan_in_a_pipe_is_short_as_well_and_all_lists_every_bug(pins):
    short = hotfix("scan", "requirements.txt", cwd=pins).stdout
    assert len(short.splitlines()) <= LINES
    heading, *_ = short.splitlines()
    count = int(heading.partition(" known bugs")[0].rpartition(" ")[2])
    whole = hotfix("scan", "requirements.txt", "--all", cwd=pins).stdout
    ids = {line.split()[0] for line in whole.splitlines() if line.strip()}
    assert len(ids & set(bugs.known())) == count


def test_removed_names_are_counted_and_scan_code_is_named(pins):
    short = hotfix("scan", "requirements-dev.txt", cwd=pins).stdout
    names = [bug.id for bug in bugs.known().values() if bug.kind == "removed-api"]
    assert not any(line.startswith(tuple(names)) for line in short.splitlines())
    assert "`hotfix scan-code .`" in short


def test_the_advice_says_whether_an_upgrade_helps(pins):
    import json

    short = hotfix("scan", "requirements.txt", cwd=pins).stdout
    (scan,) = json.loads(hotfix("scan", "requirements.txt", "--json", cwd=pins).stdout)["scans"]
    here = sum(not finding["repaired"] for finding in scan["findings"])
    step = scan["upgrades"][-1]
    assert lacking(short, f"transformers=={step['release']}", f"fixes {step['ended']}", f"the {here} bugs") == []
    assert "Upgrade if" in short or "Stay" in short


@pytest.mark.parametrize("width", [60, 80, 190])
def test_the_list_fits_a_terminal_and_is_grouped_by_kind(tmp_path, width):
    shown = lines_of("list", cwd=tmp_path, width=width)
    assert len(shown) <= LINES
    assert max(map(len, shown)) <= width
    kinds = [line.partition(":")[0] for line in shown if line[:1].isalpha()]
    assert kinds[:3] == ["security", "crash", "silent"]


def ids_of(*words, cwd):
    import json

    return {load["id"] for load in json.loads(hotfix("list", *words, "--json", cwd=cwd).stdout)}


def test_the_list_is_filtered(tmp_path):
    every = ids_of(cwd=tmp_path)
    assert ids_of("cos/sin", cwd=tmp_path) == {"flash-rotary-dtype"}
    assert ids_of("cos/sin", "nonsense", cwd=tmp_path) == set()
    here = ids_of("--release", "4.49.0", cwd=tmp_path)
    assert "flash-rotary-dtype" in here
    assert here < every
    on, off = ids_of("--default", "on", cwd=tmp_path), ids_of("--default", "off", cwd=tmp_path)
    assert on | off == every
    assert not on & off
    assert "not a version" in hotfix("list", "--release", "new", cwd=tmp_path).stderr
