"""From a new release to a commit, on releases of a few lines; what becomes of evidence that ends too early."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from packaging.version import Version

from hotfix.fix import Fix
from tests.facts import lacking
from tests.tools.test_sweep import BROKEN, FIXED, NAME, library, modeling, rotary_fix, written
from tools import by_release, evidence, matrix, newrelease, pages, sweep, wheels
from tools import results as files
from tools import symbols as names


class Checkout:
    """Evidence, results and fragments in a folder, and the fixes of a test."""

    def __init__(self, folder: Path) -> None:
        self.cache, self.evidence, self.changes = folder / "wheels", folder / "evidence", folder / "changes"
        self.results = folder / "matrix"
        self.cache.mkdir()
        self.changes.mkdir()
        self.fixes: tuple[Fix, ...] = ()
        self.tables: list[list[str]] = []
        self.together: list[dict[str, set[str]]] = []

    def modules(self, problem: object = None, proofs: bool = False) -> dict[str, Fix]:
        return {f"home.of.{fix.id}": fix for fix in self.fixes}

    def sweep(self, releases: dict[str, dict[str, str]], output: Path | None = None) -> None:
        library(self.cache, releases)
        assert (
            sweep.main(["--offline", "--jobs=1", f"--cache={self.cache}", f"--output={output or self.evidence}"]) == 0
        )

    def add(self, releases: dict[str, dict[str, str]], *words: str) -> int:
        library(self.cache, releases)
        options = ["--offline", "--tables", "--jobs=1", f"--cache={self.cache}", f"--results={self.results}"]
        return newrelease.main([*options, *words])

    def fragments(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in sorted(self.changes.iterdir())}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    made = Checkout(tmp_path)
    monkeypatch.setattr(evidence, "discover", made.modules)
    monkeypatch.setattr(evidence, "FOLDER", made.evidence)
    monkeypatch.setattr(newrelease, "CHANGES", made.changes)
    monkeypatch.setattr(pages, "main", lambda words: 0)
    monkeypatch.setattr(names, "table", lambda releases: list(map(str, releases)))
    monkeypatch.setattr(names, "write", made.tables.append)
    monkeypatch.setattr(by_release, "build", lambda library, package: list(map(str, library.releases)))
    monkeypatch.setattr(by_release, "write", lambda data, output: made.tables.append(data))
    return made


RELEASES = {
    "4.40.0": {},
    "4.41.0": modeling("one", BROKEN),
    "4.42.0": modeling("one", FIXED) | modeling("two", "x = 1\n"),
    "4.43.0": modeling("one", FIXED) | modeling("two", "x = 2\n"),
    "5.0.0": modeling("one", textwrap.dedent(FIXED) + "\n\nclass Other:\n    pass\n"),
    "5.1.0": {},
}


@pytest.mark.parametrize("cut", [1, 2, 3, 5])
@pytest.mark.parametrize("at_once", [True, False])
def test_adding_releases_one_by_one_equals_one_sweep(checkout, tmp_path, capsys, cut, at_once):
    names = list(RELEASES)
    checkout.fixes = (rotary_fix(), _second())
    checkout.sweep({name: RELEASES[name] for name in names[:cut]})
    library(checkout.cache, RELEASES)
    for words in [[]] if at_once else [[f"--release={name}"] for name in names[cut:]]:
        assert checkout.add({}, "--no-cells", *words) == 0
    grown = written(checkout.evidence)
    checkout.sweep(RELEASES, tmp_path / "whole")
    assert grown == written(tmp_path / "whole")
    assert list(checkout.fragments()) == [f"transformers-{name}.changed.md" for name in names[cut:]]
    assert checkout.tables[-2:] == [names, names]
    assert checkout.add({}, "--no-cells") == 0
    assert "new releases: none" in capsys.readouterr().out


def _second() -> Fix:
    """A fix of the same function in another module, which no release has."""
    fix = Fix(id="second", title="It refuses.", kind="crash", prefilter="nowhere(")

    @fix.replaces((f"{NAME.format('two')}:rotate", ""))
    def rotate(q, cos):
        return q

    fix.recognises(lambda node: False)
    return fix


def test_it_reports_moved_results(checkout, capsys):
    checkout.fixes = (rotary_fix(),)
    checkout.sweep({name: RELEASES[name] for name in ("4.40.0",)})
    assert checkout.add(RELEASES, "--no-cells") == 0
    out = capsys.readouterr().out
    assert "rotary changes:" in out
    assert lacking(out, f"{NAME.format('one')}:rotate", "4.41.0: ", "absent -> broken") == []
    fragments = checkout.fragments()
    assert lacking(fragments["transformers-4.41.0.changed.md"], "`rotary`", "1 broken") == []
    assert lacking(fragments["transformers-4.42.0.changed.md"], "`rotary`", "1 not broken") == []
    assert "nothing has changed" in fragments["transformers-4.43.0.changed.md"]
    assert "1 gone" in fragments["transformers-5.1.0.changed.md"]


def test_a_patch_of_an_older_series_takes_its_place(checkout, tmp_path):
    checkout.fixes = (rotary_fix(),)
    checkout.sweep(RELEASES)
    patch = {"4.42.1": RELEASES["4.42.0"]}
    assert checkout.add(patch, "--no-cells") == 0
    assert evidence.examined_releases(evidence.read(checkout.evidence / "index.json"))[3] == Version("4.42.1")
    checkout.sweep({}, tmp_path / "whole")
    assert written(checkout.evidence) == written(tmp_path / "whole")


PROBLEMS = {
    "broken again": (modeling("one", BROKEN), {}, "broken and not declared: 4.43.0 and later"),
    "a forgotten copy": (modeling("one", FIXED) | modeling("two", BROKEN), {}, "forgotten copy"),
    "a copy that upstream has repaired": (
        modeling("one", FIXED) | modeling("three", FIXED),
        {"transformers.*": "Upstream has not repaired it."},
        f"forgotten copy {NAME.format('three')}:rotate in 4.42.0",
    ),
}


@pytest.mark.parametrize("case", PROBLEMS)
def test_a_problem_ends_it_before_anything_is_written(checkout, capsys, case):
    files, exempt, said = PROBLEMS[case]
    checkout.fixes = (rotary_fix(exempt=exempt),)
    before = {name: dict(RELEASES[name]) for name in list(RELEASES)[:3]}
    if exempt:
        before["4.42.0"] |= modeling("three", BROKEN)
    checkout.sweep(before)
    kept = written(checkout.evidence)
    assert checkout.add({"4.43.0": files}, "--no-cells") == 1
    out = capsys.readouterr().out
    assert said in out
    assert lacking(out, "4.43.0 is not", "1 problem") == []
    assert written(checkout.evidence) == kept
    assert checkout.fragments() == {}


def test_evidence_that_the_wheels_contradict_is_a_problem(checkout, capsys):
    checkout.fixes = (rotary_fix(),)
    checkout.sweep({name: RELEASES[name] for name in list(RELEASES)[:3]})
    file = checkout.evidence / "rotary.json"
    data = evidence.read(file)
    (entry,) = data["targets"].values()
    entry["fixed"] = {"0" * 20: ["4.42.0 and later"]}
    evidence.write(file, data)
    assert checkout.add({"4.43.0": RELEASES["4.43.0"]}, "--no-cells") == 1
    assert "fixed 00000000000000000000" in capsys.readouterr().out


def test_evidence_that_disagrees_with_the_fixes_is_not_added_to(checkout, capsys):
    checkout.fixes = (rotary_fix(),)
    checkout.sweep({name: RELEASES[name] for name in list(RELEASES)[:3]})
    checkout.fixes = (rotary_fix("<=4.41.0"),)
    assert checkout.add({"4.43.0": {}}, "--no-cells") == 1
    assert "The evidence" in capsys.readouterr().out


# -- cells -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def ran(checkout, monkeypatch):
    """Records the cells that would run; each is good."""
    cells: list[tuple[str, str, str]] = []
    together = checkout.together

    class Trials:
        def __init__(self, book: matrix.Book, every: object, timeout: float, armed: dict[Version, set[str]]) -> None:
            self.book = book
            together.append({str(release): ids for release, ids in armed.items()})

        def carry_out(self, todo: list[matrix.Cell], jobs: int) -> None:
            for cell in todo:
                cells.append((cell.fix.id, str(cell.release), cell.verdict))
                self.book.enter(cell, {"result": "untouched", "fix": "digest", "source": cell.digest})

    monkeypatch.setattr(matrix, "Trials", Trials)
    monkeypatch.setattr(matrix, "_digest_of", lambda module: "digest")
    return cells


def with_case(fix: Fix) -> Fix:
    fix.case(lambda: None)
    return fix


def every_cell_fails(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    enter = matrix.Book.enter
    failed = {"result": "failed", "reason": reason}
    monkeypatch.setattr(matrix.Book, "enter", lambda self, cell, entry: enter(self, cell, {**entry, **failed}))


def test_fixes_that_a_release_touches_run_and_one_control_for_each_other_fix(checkout, ran):
    checkout.fixes = (with_case(rotary_fix()),)
    checkout.sweep({name: RELEASES[name] for name in ("4.40.0", "4.41.0")})
    assert checkout.add({"4.42.0": RELEASES["4.42.0"]}) == 0
    assert ran == [("rotary", "4.41.0", "broken"), ("rotary", "4.42.0", "fixed")], (
        "4.40.0 is no neighbour of the new one"
    )
    ran.clear()
    assert checkout.add({"4.43.0": RELEASES["4.43.0"]}) == 0
    assert ran == [("rotary", "4.43.0", "fixed")], "a control"
    assert checkout.together[-2:] == [{}, {"4.43.0": {"rotary"}}]
    results = files.read(checkout.results)["fixes"]["rotary"]
    assert [list(releases) for releases in results.values()] == [["4.41.0", "4.42.0"]], "its result is not kept"
    ran.clear()
    assert checkout.add({"5.0.0": {}, "5.1.0": {}}, "--fix=nothing") == 0
    assert ran == []


def test_a_cell_with_a_bad_result_is_reported(checkout, ran, monkeypatch, capsys):
    checkout.fixes = (with_case(rotary_fix()),)
    checkout.sweep({name: RELEASES[name] for name in ("4.40.0", "4.41.0")})
    every_cell_fails(monkeypatch, "why")
    assert checkout.add({"4.42.0": RELEASES["4.42.0"]}) == 1
    assert "rotary modeling_one:rotate 4.42.0: why" in capsys.readouterr().out


def test_failed_cells_run_again_because_a_new_release_may_be_their_oracle(checkout, ran, monkeypatch):
    checkout.fixes = (with_case(rotary_fix()),)
    checkout.sweep({name: RELEASES[name] for name in ("4.40.0", "4.41.0")})
    with monkeypatch.context() as failing:
        every_cell_fails(failing, "no oracle")
        assert checkout.add({"4.42.0": RELEASES["4.42.0"]}) == 1
    ran.clear()
    assert checkout.add({"4.43.0": RELEASES["4.43.0"]}) == 0
    assert ("rotary", "4.41.0", "broken") in ran, "4.41.0 is no neighbour of 4.43.0"


# -- the real thing ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_last_two_releases_give_the_committed_evidence(checkout, monkeypatch):
    """The committed evidence, cut before its last release, and that release from its wheel."""
    folder = files.FOLDER.parents[2] / "hotfix" / "versions" / "evidence"
    monkeypatch.undo()
    examined = evidence.examined_releases(evidence.read(folder / "index.json"))
    there = wheels.cached("transformers", wheels.default_cache())
    if not {examined[-1], examined[-2]} <= set(there):
        pytest.skip(f"the wheels of transformers {examined[-2]} and {examined[-1]} are not in the cache")
    modules = evidence.discover(pytest.fail)
    before = {}
    for fix in modules.values():
        entries = evidence.read(folder / f"{fix.id}.json")["targets"]
        before[fix.id] = {
            key: dict(list(evidence.by_release(entries[key], examined).items())[:-1])
            for key in {target.key: None for target in fix.targets if evidence.has_releases(target)}
        }
    last = wheels.catalogue("transformers", {release: there[release] for release in examined[-2:]})
    swept = sweep.sweep(list(modules.values()), last, 1, sweep.Before(examined[:-1], before))
    assert swept.problems == []
    for fix in modules.values():
        committed = evidence.read(folder / f"{fix.id}.json")
        assert swept.file(fix, committed, examined) == committed
