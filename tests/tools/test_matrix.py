"""The matrix on a pretended testbed: what counts as repaired, what as untouched, and how it is taken up again."""

from __future__ import annotations

import functools
import shutil
import sys
import types
from dataclasses import replace
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from typing import Any

import pytest
from packaging.version import Version

torch = pytest.importorskip("torch")

from hotfix.fix import Fix, Target  # noqa: E402
from tests.facts import lacking  # noqa: E402
from tools import evidence, matrix, probes  # noqa: E402
from tools import results as files  # noqa: E402
from tools.testbed.run import Result  # noqa: E402

MODULE = "transformers.models.one.modeling_one"
KEY = f"{MODULE}:rotate"
EXAMINED = ["4.40.0", "4.41.0", "4.41.1", "4.42.0", "4.43.0"]
BROKEN = "0123456789abcdef0123"
HOME = "hotfix.models.flash_rotary_dtype"  # any module that is there: its text is digested


def make_fix(**how) -> Fix:
    fix = Fix(id="rotary", title="It refuses.", kind="crash")
    fix.replaces((KEY, ">=4.41.0,<=4.41.1"))(lambda q: None)
    fix.case(**how)(case)
    return fix


def case(testbed, target): ...


class Pretender:
    """A testbed on which upstream raises in 4.41.*, and hotfix helps."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, str, bool]] = []
        self.results: dict[tuple[str, bool], Result] = {}
        self.touched = 0
        self.elsewhere: list[dict[str, str]] = []
        self.report = {"4.40.0": ("absent", "skipped"), "4.42.0": ("fixed", "skipped")}
        self.interrupt_at: int | None = None
        self.armed: set[tuple[str, str]] = set()

    def __call__(self, case, targets, **beside) -> list[Result]:
        return [self.run(case, **beside) for _ in targets]

    def run(self, case, *, transformers, hotfix, env, **_) -> Result:
        if self.interrupt_at == len(self.ran):
            raise KeyboardInterrupt
        self.ran.append((case.partition(":")[2], transformers, hotfix))
        result = Result(tensors={"out": torch.tensor([1.0, 2.0])}, versions={"python": "3", "flash_attn": "2.7"})
        if case == matrix.PROBE:
            counts = {"functions": 9, "changed": 0, "ours": self.touched, "operations": len(self.elsewhere)}
            result.tensors = {name: torch.tensor(count) for name, count in counts.items()}
        elif transformers.startswith("4.41") and not hotfix:
            result = Result(error=("AssertionError", "same dtype\nmore", ""))
        if hotfix:
            self.armed.add((transformers, env["HOTFIX_ONLY"]))
            assert env["HOTFIX_ONLY"] == env["HOTFIX_OPTIN"]
            verdict, state = self.report.get(transformers, ("broken", "applied"))
            own = {"fix": "rotary", "target": KEY, "verdict": verdict, "state": state}
            result.report = {"outcomes": [own, *self.elsewhere]}
        return result if case == matrix.PROBE else self.results.get((transformers, hotfix), result)


@pytest.fixture
def testbed(monkeypatch, tmp_path):
    folder = tmp_path / "evidence"
    index = {"examined": {"transformers": EXAMINED}, "fixes": {}}
    entry = {"absent": ["4.40.0"], "broken": {BROKEN: ["4.41.0 - 4.41.1"]}, "fixed": {"f" * 20: ["4.42.0 and later"]}}
    evidence.write(folder / "index.json", index)
    evidence.write(folder / "rotary.json", {"fix": "rotary", "targets": {KEY: entry}})
    monkeypatch.setattr(evidence, "FOLDER", folder)
    return Pretender()


def carried_out(testbed, tmp_path, fix=None):
    every = matrix.cells({HOME: fix or make_fix()}, evidence.FOLDER)
    book = matrix.Book(tmp_path / "matrix")
    todo = [cell for cell in every if not book.is_done(cell)]
    matrix.Trials(book, every, 60, testbed).carry_out(todo, 1)
    return {str(cell.release): book.entry(cell) for cell in every}


def results(entries):
    return {release: entry["result"] for release, entry in entries.items()}


def test_broken_releases_are_repaired_and_their_neighbours_untouched(testbed, tmp_path):
    entries = carried_out(testbed, tmp_path)
    assert results(entries) == {
        "4.40.0": "untouched",
        "4.41.0": "repaired",
        "4.41.1": "repaired",
        "4.42.0": "untouched",
    }
    assert entries["4.41.0"]["before"] == "AssertionError: same dtype"
    assert entries["4.41.0"]["oracle"] == "4.42.0"
    assert entries["4.41.0"]["difference"] == 0.0
    assert testbed.ran.count(("case", "4.42.0", False)) == 1, "an oracle is run once"


@pytest.mark.parametrize(
    ("release", "armed", "result", "reason"),
    [
        ("4.41.0", True, Result(error=("AssertionError", "same dtype", "")), "hotfix reports nothing"),
        ("4.41.0", False, Result(tensors={"out": torch.tensor([1.0, 2.0])}), "without hotfix it raises nothing"),
        (
            "4.42.0",
            False,
            Result(tensors={"out": torch.tensor([1.0, 2.5])}),
            "it differs from 4.42.0 by 2.00e-01 in out",
        ),
        ("4.42.0", False, Result(tensors={"out": torch.tensor([1.0])}), "out of shape (2,) and (1,)"),
        ("4.42.0", False, Result(tensors={"out": torch.tensor([1.0, torch.nan])}), "it differs from 4.42.0 by inf"),
    ],
)
def test_a_cell_fails_and_says_why(testbed, tmp_path, release, armed, result, reason):
    testbed.results[release, armed] = result
    entry = carried_out(testbed, tmp_path)["4.41.0"]
    assert entry["result"] == "failed"
    assert reason in entry["reason"]
    text = (tmp_path / "matrix" / "rotary.json").read_text()
    assert "Infinity" not in text, "browsers cannot read that"


def test_another_error_than_the_reported_one_is_a_failure(testbed, tmp_path):
    entry = carried_out(testbed, tmp_path, make_fix(raises="^ValueError"))["4.41.0"]
    assert lacking(entry["reason"], "without hotfix", "AssertionError: same dtype", "'^ValueError'") == []


def test_the_oracle_reveals_a_silent_bug(testbed, tmp_path):
    testbed.results["4.41.0", False] = Result(tensors={"out": torch.tensor([1.0, 7.0])})
    entry = carried_out(testbed, tmp_path)["4.41.0"]
    assert entry["result"] == "repaired"
    assert "before" not in entry


def test_the_first_later_release_in_which_the_case_runs_is_the_oracle(testbed, tmp_path):
    testbed.results["4.42.0", False] = Result(error=("TypeError", "another bug", ""))
    assert carried_out(testbed, tmp_path)["4.41.0"]["oracle"] == "4.43.0"
    testbed.results["4.43.0", False] = Result(tensors={"loss": torch.tensor(1.0)})
    shutil.rmtree(tmp_path / "matrix")
    assert carried_out(testbed, tmp_path)["4.41.0"]["oracle"] == "4.40.0"
    testbed.results["4.40.0", False] = Result(error=("ImportError", "no such model", ""))
    shutil.rmtree(tmp_path / "matrix")
    reason = carried_out(testbed, tmp_path)["4.41.0"]["reason"]
    assert lacking(reason, "4.42.0", "TypeError: another bug", "4.43.0", "having loss", "4.40.0") == []


def test_where_the_bug_moved_within_a_module_there_is_neither_oracle_nor_neighbour(testbed, tmp_path):
    moved = {"absent": ["4.40.0 - 4.41.1", "4.43.0 and later"], "broken": {"a" * 20: ["4.42.0"]}, "fixed": {}}
    data = evidence.read(evidence.FOLDER / "rotary.json")
    data["targets"][f"{MODULE}:turn"] = moved
    evidence.write(evidence.FOLDER / "rotary.json", data)
    fix = make_fix()
    fix.replaces((f"{MODULE}:turn", "==4.42.0"))(lambda q: None)
    every = matrix.cells({HOME: fix}, evidence.FOLDER)
    assert [(str(cell.release), cell.verdict) for cell in every if cell.target.qualname == "rotate"] == [
        ("4.40.0", "absent"),
        ("4.41.0", "broken"),
        ("4.41.1", "broken"),
    ]
    trials = matrix.Trials(matrix.Book(tmp_path / "matrix"), every, 60, testbed)
    assert trials.try_cell(every[1])["oracle"] == "4.43.0"


def test_a_fix_may_name_its_oracle_or_none(testbed, tmp_path):
    assert carried_out(testbed, tmp_path, make_fix(oracles={KEY: "4.43.0"}))["4.41.0"]["oracle"] == "4.43.0"
    shutil.rmtree(tmp_path / "matrix")
    entry = carried_out(testbed, tmp_path, make_fix(oracles={"*": ""}))["4.41.0"]
    assert (entry["result"], entry["oracle"]) == ("repaired", "")


def test_a_tolerance_may_be_declared(testbed, tmp_path):
    testbed.results["4.42.0", False] = Result(tensors={"out": torch.tensor([1.0, 2.2])})
    fix = make_fix(tolerance={"float32": 0.1})
    entry = carried_out(testbed, tmp_path, fix)["4.41.0"]
    assert entry["result"] == "repaired"
    assert entry["difference"] == pytest.approx(0.2 / 2.2, rel=1e-5)


def test_fixes_of_other_bugs_are_armed_before_and_after_on_broken_releases_only(testbed, tmp_path):
    testbed.results["4.41.0", True] = testbed.results["4.41.1", True] = Result(
        tensors={"out": torch.tensor([1.0, 2.0])},
        report={"outcomes": [{"fix": "rotary", "target": KEY, "verdict": "broken", "state": "applied"}]},
    )
    carried_out(testbed, tmp_path, make_fix(with_fixes=("another",)))
    assert {ids for release, ids in testbed.armed if release.startswith("4.41")} == {"another", "rotary,another"}
    assert {ids for release, ids in testbed.armed if not release.startswith("4.41")} == {"rotary"}
    assert ("case", "4.42.0", False) in testbed.ran, "the oracle is run without hotfix"


def test_controls_of_a_release_arm_the_same_fixes(testbed, tmp_path):
    book = matrix.Book(tmp_path / "controls.json")
    every = matrix.cells({HOME: make_fix()}, evidence.FOLDER)
    cells = [cell for cell in every if cell.verdict == "fixed"]
    armed = {Version("4.42.0"): {"zebra", "rotary", "another"}}
    matrix.Trials(book, every, 300, testbed, armed).carry_out(cells, 1)
    entries = [book.entry(cell) for cell in cells]
    assert [entry and entry["result"] for entry in entries] == ["untouched"]
    assert testbed.armed == {("4.42.0", "another,rotary,zebra")}


def test_a_neighbour_that_was_touched_is_a_failure(testbed, tmp_path):
    testbed.touched = 1
    entry = carried_out(testbed, tmp_path)["4.40.0"]
    assert "something was touched" in entry["reason"]


@pytest.mark.parametrize(("touched", "result"), [(1, "untouched"), (2, "failed")])
def test_a_function_wrapped_in_another_module_is_not_the_neighbours(testbed, tmp_path, touched, result):
    testbed.touched = touched
    testbed.elsewhere = [{"fix": "rotary", "target": "package.other:turn", "verdict": "broken", "state": "applied"}]
    assert carried_out(testbed, tmp_path)["4.40.0"]["result"] == result


@pytest.mark.parametrize(("raised", "result"), [("TypeError: keep", "untouched"), ("TypeError: left", "failed")])
def test_which_of_several_processes_raises_first_is_no_difference(testbed, tmp_path, raised, result):
    outcome = {"fix": "rotary", "target": KEY, "verdict": "fixed", "state": "skipped"}
    for armed, last in ((False, "TypeError: keep"), (True, raised)):
        message = f"\n\n-- Process {int(armed)} terminated with the following error:\nTraceback …\n{last}\n"
        error = ("ProcessRaisedException", message, "")
        testbed.results["4.42.0", armed] = Result(error=error, report={"outcomes": [outcome]})
    assert carried_out(testbed, tmp_path)["4.42.0"]["result"] == result


@pytest.mark.parametrize("armed", [False, True])
def test_a_neighbour_that_gives_a_result_more_with_hotfix_or_without_it_is_a_failure(testbed, tmp_path, armed):
    more = {"out": torch.tensor([1.0, 2.0]), "loss": torch.tensor(1.0)}
    outcome = {"fix": "rotary", "target": KEY, "verdict": "fixed", "state": "skipped"}
    testbed.results["4.42.0", armed] = Result(tensors=more, report={"outcomes": [outcome]})
    entry = carried_out(testbed, tmp_path)["4.42.0"]
    assert lacking(entry["reason"], "inf", "loss", "only one") == []


def test_a_neighbour_with_nan_where_it_has_it_without_hotfix_is_untouched(testbed, tmp_path):
    outcome = {"fix": "rotary", "target": KEY, "verdict": "fixed", "state": "skipped"}
    for armed in False, True:
        tensors = {"out": torch.tensor([torch.nan, torch.inf])}
        testbed.results["4.42.0", armed] = Result(tensors=tensors, report={"outcomes": [outcome]})
    assert carried_out(testbed, tmp_path)["4.42.0"]["result"] == "untouched"


def test_a_neighbour_of_which_hotfix_says_something_else_is_a_failure(testbed, tmp_path):
    testbed.report["4.40.0"] = ("unknown", "skipped")
    entry = carried_out(testbed, tmp_path)["4.40.0"]
    assert lacking(entry["reason"], "[('unknown', 'skipped')]", "absent and skipped") == []


def test_finished_cells_do_not_run_again_unless_the_fix_has_changed(testbed, tmp_path, monkeypatch):
    carried_out(testbed, tmp_path)
    before, testbed.ran = testbed.ran, []
    carried_out(testbed, tmp_path)
    assert testbed.ran == []
    monkeypatch.setattr(matrix, "_digest_of", lambda home: "another")
    carried_out(testbed, tmp_path)
    assert testbed.ran == before


def test_a_failed_cell_is_tried_again(testbed, tmp_path):
    testbed.touched = 1
    carried_out(testbed, tmp_path)
    testbed.touched = 0
    assert results(carried_out(testbed, tmp_path))["4.40.0"] == "untouched"


def test_an_interruption_keeps_finished_results(testbed, tmp_path):
    testbed.interrupt_at = 3
    with pytest.raises(SystemExit):
        carried_out(testbed, tmp_path)
    (done,) = files.read(tmp_path / "matrix")["fixes"]["rotary"].values()
    assert list(done) == ["4.40.0"]
    testbed.interrupt_at = None
    assert set(results(carried_out(testbed, tmp_path)).values()) == {"untouched", "repaired"}
    assert testbed.ran.count(("untouched", "4.40.0", True)) == 1


def test_the_slice_is_the_first_and_the_last_broken_release_and_the_next(testbed):
    chosen = matrix.slice_of(matrix.cells({HOME: make_fix()}, evidence.FOLDER))
    assert [str(cell.release) for cell in chosen] == ["4.41.0", "4.41.1", "4.42.0"]
    assert [cell.verdict for cell in chosen] == ["broken", "broken", "fixed"]


def test_each_fix_is_shown_to_be_alive_by_one_broken_cell_of_few_releases(testbed):
    every = [
        replace(cell, fix=replace(cell.fix, id=id), release=Version(release))
        for id, releases in {"a": ("1.0", "2.0"), "b": ("2.0", "3.0"), "c": ("4.0",)}.items()
        for release in releases
        for cell in matrix.cells({HOME: make_fix()}, evidence.FOLDER)[1:]
    ]
    chosen = matrix.alive_of(every)
    assert sorted((cell.fix.id, str(cell.release)) for cell in chosen) == [("a", "2.0"), ("b", "2.0"), ("c", "4.0")]
    assert {cell.verdict for cell in chosen} == {"broken"}


def test_results_of_cells_that_are_gone_are_dropped(testbed, tmp_path):
    carried_out(testbed, tmp_path)
    book = matrix.Book(tmp_path / "matrix")
    cell = matrix.cells({HOME: make_fix()}, evidence.FOLDER)[0]
    book.forget([cell])
    book.enter(cell, {"result": "untouched"})
    data = files.read(tmp_path / "matrix")
    assert data["fixes"] == {"rotary": {KEY: {"4.40.0": {"result": "untouched", "with": {}}}}}


def test_the_file_names_the_versions_that_made_it(testbed, tmp_path):
    entries = carried_out(testbed, tmp_path)
    assert files.read(tmp_path / "matrix")["versions"]["python"] == "3"
    assert entries["4.40.0"]["with"] == {"flash_attn": "2.7"}
    assert Version(files.read(tmp_path / "matrix")["versions"]["hotfix"])


# -- parts and samples ----------------------------------------------------------------------------


def many_cells():
    """Four targets of two fixes in all examined releases."""
    fixes = [make_fix(), replace(make_fix(), id="another")]
    return [
        matrix.Cell(
            fix,
            HOME,
            Target(f"{MODULE}{name}", "rotate", key=f"{MODULE}{name}:rotate"),
            Version(release),
            "broken",
            BROKEN,
        )
        for fix, names in zip(fixes, ("ab", "cd"))
        for name in names
        for release in EXAMINED
    ]


def paths(cells):
    return [cell.path for cell in cells]


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_every_cell_is_in_one_shard_whichever_others_there_are(count):
    every = many_cells()
    shards = [matrix.shard_of(every, f"{number}/{count}") for number in range(1, count + 1)]
    assert sorted(path for shard in shards for path in paths(shard)) == sorted(paths(every))
    fewer = every[::2]
    for number, shard in enumerate(shards, 1):
        assert set(paths(matrix.shard_of(fewer, f"{number}/{count}"))) == set(paths(shard)) & set(paths(fewer))


def test_shards_and_samples_are_the_same_on_every_machine():
    assert matrix._drawn("rotary", "a:b", "4.41.0") == 16561463191547726786


@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "1/0", "a/b", "1/2/3"])
def test_an_invalid_shard_is_refused(shard):
    with pytest.raises(ValueError, match="is not a part such as 2/8"):
        matrix.shard_of([], shard)


def test_a_sample_has_its_size_is_of_few_releases_and_another_one_for_another_seed():
    every = [replace(cell, release=Version(f"{number}.0")) for number in range(20) for cell in many_cells()]
    samples = [matrix.sample_of(every, 10, seed) for seed in ("a", "a", "b")]
    assert paths(samples[0]) == paths(samples[1]) != paths(samples[2])
    for sample in samples:
        assert len(sample) == len(set(map(id, sample))) == 10
        assert len({cell.release for cell in sample}) == matrix.RELEASES_DRAWN
    assert len(matrix.sample_of(every[:3], 10, "a")) == 3


def test_in_time_every_cell_has_its_turn():
    every = many_cells()
    drawn = {cell.path for seed in range(60) for cell in matrix.sample_of(every, 5, str(seed))}
    assert drawn == set(paths(every))


# -- carrying over --------------------------------------------------------------------------------


def test_good_results_of_the_same_source_are_carried_over_to_the_text_of_today(testbed, tmp_path, monkeypatch):
    testbed.touched = 1  # so that the neighbours fail
    carried_out(testbed, tmp_path)
    every = matrix.cells({HOME: make_fix()}, evidence.FOLDER)
    monkeypatch.setattr(matrix, "_digest_of", lambda home: "of today")
    moved = replace(every[1], digest="another source")
    assert [cell.verdict for cell in every] == ["absent", "broken", "broken", "fixed"]
    book = matrix.Book(tmp_path / "matrix")
    before: dict[Any, Any] = {}
    for cell in every:
        entry = book.entry(cell)
        assert entry is not None
        before[cell.path] = dict(entry)
    assert book.carry_over([every[0], moved, every[2], every[3]]) == 1
    book = matrix.Book(tmp_path / "matrix")
    assert [book.is_done(cell) for cell in every] == [False, False, True, False]
    before[every[2].path]["fix"] = "of today"
    assert {cell.path: book.entry(cell) for cell in every} == before
    assert book.carry_over(every[2:3]) == 0


def test_the_option_carries_over_the_chosen_results_and_runs_nothing(testbed, tmp_path, monkeypatch, capsys):
    carried_out(testbed, tmp_path)
    monkeypatch.setattr(evidence, "discover", lambda problem, proofs: {HOME: make_fix()})
    monkeypatch.setattr(matrix, "cells", functools.partial(matrix.cells, folder=evidence.FOLDER))
    monkeypatch.setattr(matrix, "_digest_of", lambda home: "of today")
    monkeypatch.setattr(matrix, "Trials", None)
    results = ["--results", str(tmp_path / "matrix")]
    assert matrix.main(["--carry-over", "--release", "4.41.0", *results]) == 0
    assert "1 results" in capsys.readouterr().out
    matrix.main(["--list", *results])
    assert lacking(capsys.readouterr().out, "4 cells", "1 of them") == []
    matrix.main(["--carry-over", *results])
    matrix.main(["--list", *results])
    assert lacking(capsys.readouterr().out, "4 cells", "4 of them") == []


class Alias(Loader):
    """A loader like that of names of modules that are gone, in transformers: it copies another one, and has no code."""

    def exec_module(self, module): ...


def test_a_module_without_code_of_its_own_counts_as_untouched(monkeypatch):
    module = module_from_spec(ModuleSpec("a_module_that_is_gone", Alias()))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    counts = probes.untouched(None, Target(module.__name__, "function"))
    assert (int(counts["functions"]), int(counts["changed"])) == (0, 0)


class Lazy(types.ModuleType):
    """A package like some of transformers: for any name it looks into modules that need what is not installed."""

    def __getattr__(self, name):
        raise ModuleNotFoundError("No module named 'torchvision'")


def test_a_lazy_package_in_a_module_is_not_queried(monkeypatch):
    module = types.ModuleType("a_module_with_a_lazy_package")
    vars(module).update(lazy=Lazy("lazy"), __spec__=ModuleSpec(module.__name__, Alias()))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert int(probes.untouched(None, Target(module.__name__, "function"))["functions"]) == 0
    assert list(probes._functions(module)) == []
