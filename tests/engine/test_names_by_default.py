"""A group's fixes restore names by default for code that would otherwise end; switches restore them for all or none."""

from __future__ import annotations

import json

import pytest

from tests.facts import lacking

from .conftest import World

NAMES = """
from hotfix.fix import Fix

FIX = Fix(id="toy-names", title="names are gone", kind="removed-api", group="names")

@FIX.adds(("transformers.toy:gone", "==1.0"))
def gone():
    return "gone"

@FIX.adds(("transformers.toy:gone_too", "==1.0"))
def gone_too():
    return "too"

@FIX.wraps(("transformers.toy:scale", "==1.0"), optin="it changes a running program")
def scale(original):
    def scaled(x, factor=2):
        return x * factor
    return scaled
"""
RUN = "import hotfix.auto, transformers.toy\n"
ASK = f"{RUN}from transformers.toy import gone\nprint(gone(), transformers.toy.scale(5))\n"
PROBE = f"{RUN}print(hasattr(transformers.toy, 'gone'), 'gone' in dir(transformers.toy))\n"


@pytest.fixture
def names(world: World) -> World:
    targets = ["transformers.toy:gone", "transformers.toy:gone_too", "transformers.toy:scale"]
    broken = {"transformers.toy:scale": "scale"}
    facts = {"kind": "removed-api", "group": "names"}
    world.plant("toy-names", NAMES, dict.fromkeys(targets, "==1.0"), broken, **facts)
    del world.fixes["toy-scale"]
    world.plant("toy-names", NAMES, dict.fromkeys(targets, "==1.0"), broken, **facts)
    return world


def test_by_default_a_name_is_for_code_that_would_end_and_nothing_that_runs_changes(names: World) -> None:
    assert names.run(ASK).stdout == "gone 7\n"
    assert names.run(PROBE).stdout == "False False\n"


def test_a_requested_group_restores_names_for_all_and_changes_running_code(names: World) -> None:
    for asked in ("names", "toy-names"):
        assert names.run(ASK, HOTFIX_OPTIN=asked).stdout == "gone 10\n"
        assert names.run(PROBE, HOTFIX_OPTIN=asked).stdout == "True True\n"


@pytest.mark.parametrize("switch", [{"HOTFIX_SKIP": "names"}, {"HOTFIX_SKIP": "toy-names"}], ids=str)
def test_a_group_that_is_skipped_restores_nothing(names: World, switch: dict[str, str]) -> None:
    done = names.run(ASK, check=False, **switch)
    assert (done.returncode, done.stdout) == (1, "")
    assert "cannot import name 'gone'" in done.stderr
    assert "HOTFIX_OPTIN" not in done.stderr


def test_one_line_at_exit_lists_the_restored_names_and_nothing_else(names: World) -> None:
    assert names.run(PROBE).stderr == ""
    done = names.run(f"{ASK}from transformers.toy import gone_too, gone\n")
    (line,) = done.stderr.splitlines()
    assert lacking(line, "hotfix: ", "restored 2 names", "gone for script.py:6", "gone_too") == []
    assert names.run(ASK, HOTFIX_LOG="quiet").stderr == ""
    assert names.run(ASK, RANK="1").stderr == ""


def test_a_program_that_ends_with_an_error_has_the_line_as_well(names: World) -> None:
    done = names.run(f"{ASK}raise SystemExit(3)\n", check=False)
    assert done.returncode == 3
    assert "restored 1 name" in done.stderr


def test_a_forked_child_leaves_the_line_to_its_parent(names: World) -> None:
    fork = "import os\nchild = os.fork()\nif child:\n    os.waitpid(child, 0)\n"
    assert names.run(f"{ASK}{fork}").stderr.count("restored") == 1


def test_the_line_is_written_where_stderr_is_at_the_end(names: World) -> None:
    captured = f"""
import contextlib, io
kept = io.StringIO()
with contextlib.redirect_stderr(kept):
    import hotfix.engine.log as log, hotfix.engine.policy as policy
    log.Log(policy.Policy()).log(30, "captured")
print(kept.getvalue().strip())
kept.close()
{ASK}
"""
    done = names.run(captured)
    assert done.stdout.splitlines() == ["hotfix: captured", "gone 7"]
    assert lacking(done.stderr, "hotfix: ", "restored 1 name") == []
    assert "Error" not in done.stderr


def test_the_report_and_the_record_have_the_place_of_the_lookup(names: World, tmp_path) -> None:
    report = "import hotfix\nreport = hotfix.report()\nprint(report.to_json() if ASKED else report)\n"
    done = names.run(f"{ASK}ASKED = True\n{report}", HOTFIX_RECORD=str(tmp_path / "records"))
    received = {"transformers.toy:gone": {"fix": "toy-names", "place": "script.py:6"}}
    assert json.loads(done.stdout.partition("\n")[2])["restored"] == received
    (record,) = (json.loads(file.read_text()) for file in (tmp_path / "records").iterdir())
    assert record["restored"] == received
    text = names.run(f"{ASK}ASKED = False\n{report}").stdout
    assert lacking(text, "toy-names", "transformers.toy:gone", "script.py:6") == []
    assert "Off by default" not in text
    text = names.run(f"{PROBE}ASKED = False\n{report}").stdout
    assert lacking(text, "One fix", "a program would") == []
    assert "was restored" not in text


def test_a_handled_error_is_the_releases_own(names: World) -> None:
    handled = f"""
{RUN}
try:
    from transformers.toy import gone
except ImportError as error:
    print(error.name, [str(error), *getattr(error, "__notes__", ())])
import hotfix
hotfix.revert()
try:
    from transformers.toy import gone
except ImportError as error:
    print("HOTFIX" in str([str(error), *getattr(error, "__notes__", ())]))
"""
    first, second = names.run(handled).stdout.splitlines()
    assert first.startswith("transformers.toy [\"cannot import name 'gone' from 'transformers.toy'")
    assert "HOTFIX" not in first
    assert second == "False"


def test_the_report_says_why_a_part_is_off(names: World) -> None:
    outcomes = "import hotfix\nprint([one.reason for one in hotfix.report() if one.target.endswith('scale')])\n"
    said = names.run(f"{RUN}{outcomes}").stdout
    assert lacking(said, "Off by default", "HOTFIX_OPTIN=toy-names") == []
