"""Messages of hotfix are true, and none that matters is missing.

- A damaged file of hotfix is named; only the fix that it belongs to is lost, not the report of all others.
- ``HOTFIX_LOG=quiet`` does not log repairs or skipped functions. A request that was not carried out (a record, a
  repair, a switch) is still logged, the first two on every rank.
- A package ``wrapt`` that is not wrapt is reported as an error of the installation, not as a replaced function.
- The line at the end of a process counts no repair that other code has replaced by then.
- A value of a switch is one line without control characters, whatever it is, and long ones are cut.
- Handling a module again does not change the record of the repair.
- ``hotfix.apply`` takes any iterable, and names the invalid elements in it.
- Bug reports are readable on a terminal that supports only ASCII.
- ``hotfix doctor`` recommends the tested Python versions.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys

import pytest

from hotfix import session
from hotfix.commands import bugs
from hotfix.commands.doctor import checks
from hotfix.engine.policy import VARIABLES
from tests.commands.cli_runs import ROOT
from tests.engine.conftest import FIX, TOY, World
from tests.facts import lacking

pytestmark = pytest.mark.drawn(4)  # a process for each case

IMPORT = "import hotfix.auto\nimport transformers.toy as toy\nprint(toy.scale(5))\n"
STATUS = "from hotfix.commands.main import main\nimport sys\nsys.exit(main({words!r}))\n"

DAMAGED = ["", "{not json", '{"targets": {}', "[]", '{"targets": []}', '{"targets": {"a:b": []}}', "{}", "\0"]


@pytest.fixture
def two(world: World) -> World:
    """A second fix, of another function."""
    text = FIX.replace("toy-scale", "toy-halve").replace("toy:scale", "toy:Layer.halve").replace("x * factor", "x / 2")
    text = text.replace("def scale(x, factor=2)", "def halve(x)").replace("ast.Add", "ast.Sub")
    key = "transformers.toy:Layer.halve"
    world.plant("toy-halve", text, {key: "==1.0"}, {key: "Layer.halve"})
    return world


@pytest.mark.parametrize("text", DAMAGED)
def test_evidence_that_cannot_be_read_is_named_and_costs_one_fix(two: World, text: str) -> None:
    file = two.folder / "evidence" / "toy-scale.json"
    file.write_text(text)
    done = two.run(STATUS.format(words=["status", "--json"]))
    outcomes = {outcome["fix"]: outcome for outcome in json.loads(done.stdout)["outcomes"]}
    assert outcomes["toy-halve"]["state"] == "pending"
    assert outcomes["toy-scale"]["state"] == "failed"
    assert f"{file} cannot be" in outcomes["toy-scale"]["reason"]
    assert str(file) in two.run(STATUS.format(words=["status"])).stdout
    done = two.run(IMPORT + "print(toy.Layer.halve(4))")
    assert done.stdout == "7\n2.0\n"
    assert done.stderr.count(str(file)) == 1
    done = two.run(IMPORT, check=False, HOTFIX_REQUIRE="toy-scale")
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize("text", ["", "{not json"])
def test_an_index_that_cannot_be_read_is_named(world: World, text: str) -> None:
    file = world.folder / "evidence" / "index.json"
    file.write_text(text)
    done = world.run(STATUS.format(words=["status"]), check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert str(file) in done.stderr
    done = world.run(IMPORT)
    assert done.stdout == "7\n"
    assert done.stderr.count("\n") == 1
    assert str(file) in done.stderr
    assert world.run(IMPORT, check=False, HOTFIX_REQUIRE="toy-scale").returncode == 1


ENDS = {
    "another function": "toy.scale = lambda x, factor=2: x + factor\n",
    "no function": "del toy.scale\n",
    "a corrected file": "import importlib, pathlib\nfile = pathlib.Path(toy.__file__)\n"
    "file.write_text(file.read_text().replace('x + factor', 'x * factor'))\nimportlib.reload(toy)\n",
}
KEPT = {
    "nothing": "",
    "a wrapper": "import functools\n@functools.wraps(toy.scale)\n"
    "def around(*given, inner=toy.scale): return inner(*given)\ntoy.scale = around\n",
    "no module": "import sys\ndel sys.modules['transformers.toy']\n",
    "the same file again": "import importlib\nimportlib.reload(toy)\n",
}


@pytest.mark.parametrize("end", [*ENDS, *KEPT])
def test_the_line_at_the_end_counts_no_repair_that_was_replaced(world: World, end: str) -> None:
    [line] = world.run(IMPORT + {**ENDS, **KEPT}[end]).stderr.splitlines()
    assert lacking(line, "1 repair") == []
    assert ("replaced" in line) is (end in ENDS)
    assert ("transformers" in line) is (end in KEPT)


@pytest.mark.parametrize("value", ["x" * 100_000, "a\x1b[31m\nb", "a\udcff"])
@pytest.mark.parametrize("variable", [*VARIABLES, "HOTFIX_NO_SUCH"])
def test_a_value_is_a_short_printable_line(world: World, variable: str, value: str) -> None:
    done = world.run(IMPORT, check=False, **{variable: value})
    lines = done.stderr.splitlines()
    assert done.returncode == 0 or "Traceback" in lines[0]
    assert all(line.isprintable() and len(line) < 1500 for line in lines)
    if done.returncode == 0:
        assert all(line.startswith("hotfix: ") for line in lines)


QUIET = {"HOTFIX_LOG": "quiet"}


def test_quiet_logs_no_repairs_and_no_skipped_functions(world: World) -> None:
    assert world.run(IMPORT, **QUIET).stderr == ""
    world.write("transformers/toy.py", TOY.replace("x + factor", "x + factor * 1"))
    assert "looks broken" in world.run(IMPORT).stderr
    assert world.run(IMPORT, **QUIET).stderr == ""


@pytest.mark.parametrize("rank", ["0", "5"])
def test_a_record_that_cannot_be_written_is_reported_even_if_quiet(world: World, rank: str) -> None:
    done = world.run(IMPORT, HOTFIX_RECORD="/dev/null/records", RANK=rank, **QUIET)
    assert done.stdout == "10\n"
    [line] = done.stderr.splitlines()
    assert lacking(line, "HOTFIX_RECORD=/dev/null/records: ", "record", "cannot be written") == []


@pytest.mark.parametrize("rank", ["0", "5"])
def test_a_failed_repair_is_reported_even_if_quiet(world: World, rank: str) -> None:
    world.write("toy_scale.py", (world.folder / "toy_scale.py").read_text().replace("(x, factor=2)", "(y)"))
    done = world.run(IMPORT, RANK=rank, **QUIET)
    assert done.stdout == "7\n"
    [line] = done.stderr.splitlines()
    assert line.startswith("hotfix: toy-scale: Refused")


def test_a_switch_that_matches_nothing_is_reported_even_if_quiet(world: World) -> None:
    done = world.run(IMPORT, HOTFIX_ONLY="typo", **QUIET)
    assert done.stdout == "7\n"
    assert lacking(done.stderr, "hotfix: ", "HOTFIX_ONLY=typo: ") == []


@pytest.mark.parametrize("place", ["wrapt.py", "wrapt/__init__.py"])
def test_a_wrapt_that_is_none_is_an_error_that_names_it(world: World, place: str) -> None:
    file = world.write(place, "")
    code = IMPORT + "import hotfix; print([(one.verdict.value, one.state.value) for one in hotfix.report()])\n"
    done = world.run(code)
    assert done.stdout == "7\n[('unknown', 'failed')]\n"
    [line] = done.stderr.splitlines()
    assert f"wrapt ({file}) is not" in line
    done = world.run(IMPORT, check=False, HOTFIX_REQUIRE="toy-scale")
    assert (done.returncode, done.stdout) == (1, "")


def test_handling_a_module_again_leaves_the_reason(world: World) -> None:
    code = """
    import hotfix.auto, transformers.toy as toy
    import hotfix, hotfix.session
    first = [(one.reason, one.state, one.late) for one in hotfix.report()]
    hotfix.session.current().module_imported("transformers.toy")
    hotfix.apply()
    hotfix.apply(only=["toy-scale"])
    print(first == [(one.reason, one.state, one.late) for one in hotfix.report()], toy.scale(5))
    print(first[0][0])
    """
    done = world.run(code)
    assert lacking(done.stdout, "True 10\n", "body was replaced") == []


def test_apply_takes_any_iterable_and_names_the_invalid_elements(world: World) -> None:
    code = """
    import hotfix, transformers.toy as toy
    for argument in ("only", "skip"):
        for kind in (iter, list, tuple, set, dict.fromkeys, lambda ids: (id for id in ids)):
            try:
                print("no error", hotfix.apply(**{argument: kind(["no-such-fix"])}))
            except hotfix.PolicyError as error:
                assert str(error).startswith(f"{argument}=no-such-fix: no fix has this id"), error
    with hotfix.apply(only=(id for id in ["toy-scale"])) as handle:
        print(handle.fixes, toy.scale(5))
    print(hotfix.apply(skip=(id for id in ["toy-*"])).fixes)
    """
    assert world.run(code).stdout == "('toy-scale',) 10\n()\n"


EXPLAIN = """
import sys
from hotfix.commands.main import main
for id in sys.argv[1:]:
    assert main(["explain", id]) == 0, id
"""


@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}], ids=str
)
def test_reports_of_bugs_can_be_read_in_ascii(env, tmp_path) -> None:
    entries = session.current().catalogue.entries
    texts = {id: f"{bug} {bugs.report_of(entries[id]) if id in entries else ''}" for id, bug in bugs.known().items()}
    ids = [id for id, text in texts.items() if not text.isascii()]
    assert ids
    done = subprocess.run(
        [sys.executable, "-c", EXPLAIN, *ids],
        env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", **env},
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr.decode("ascii", "replace")[-500:]
    advice = (b"\nWhat to do  ", b"\nOff by default. Switch it on with ")  # each report has one of the two
    assert sum(map(done.stdout.count, advice)) == len(ids)


@pytest.mark.parametrize("version", [(3, 8), (3, 14), (3, 15), (4, 0)])
def test_doctor_recommends_the_pythons_that_are_tested(version, monkeypatch) -> None:
    monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
    [finding] = [check for check in checks.python() if check.subject == "Python"]
    assert (finding.level, lacking(finding.advice, "3.9", "3.13")) == ("warning", [])


def test_those_are_the_ones_that_the_tests_are_run_on() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    [tested] = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PYTHONS"
    ]
    assert tuple(".".join(map(str, version)) for version in checks.PYTHONS) == (tested[0], tested[-1])
