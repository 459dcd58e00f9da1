"""The table fix x deviation: a sample of it, and that it catches harms which nobody has told it of.

The sample is another one for every commit; `nox -s deviations` runs what has no result yet.
"""

from __future__ import annotations

import pytest

from tests import drawn
from tests.tools import planted_harms
from tests.working.loading.test_saved_armed import WAYS
from tools import matrix
from tools.deviations import judge
from tools.deviations.judge import Run, judged
from tools.deviations.library import DEVIATIONS

SAMPLE = 5

torch = pytest.importorskip("torch", reason="torch is missing")


def table_of():
    from tools.deviations import table

    return table


def sampled():
    table = table_of()
    every, fixes = table.default_on()
    programs = [program for program in table.chosen(every, fixes) if program.deviation.name != "compiled"]
    # Programs that are harmed today are on the page; a sample that is always red would say nothing new.
    book = table.Book()
    passed = [program for program in programs if (book.entry(program) or {}).get("result") not in (None, judge.HARM)]
    return table.sample_of(passed, SAMPLE, drawn.commit(), releases=1)


def numbers(**values):
    return {name: torch.tensor(value) for name, value in values.items()}


@pytest.mark.testbed
@pytest.mark.drawn(1, "deviations")
@pytest.mark.parametrize("cell", sorted({program.cell.path for program in sampled()}))
def test_a_sample_of_the_table_holds(cell, tmp_path):
    table = table_of()
    every, _ = table.default_on()
    programs = [program for program in sampled() if program.cell.path == cell]
    verdicts = table.Table(every, table.Book(tmp_path)).try_cell(programs)
    assert not [f"{program}: {verdict.detail}" for program, verdict in verdicts if verdict.result == judge.HARM]


def test_what_is_saved_armed_is_read_by_the_release_for_every_fix_of_files():
    """A5: a program of the table, or files of two releases in ``tests/working/loading/test_saved_armed.py``."""
    table = table_of()
    every, fixes = table.default_on()
    folders = {cell.fix.id: table.folder_of(cell.module) for cell in every}
    of_files = {fix.id for fix in fixes if folders.get(fix.id) in ("loading", "processing")}
    in_files = {name for fixes, *_ in WAYS for name in fixes.split(",")}
    book = table.Book()
    in_table = {name for name in of_files if any(map(_was_read, book.entries(name).values()))}
    assert of_files - in_files - in_table == set()
    assert len(of_files) > 60


def _was_read(programs):
    entry = programs.get("written-by-this-release") or programs.get("written-by-this-release @ unaffected")
    return entry is not None and entry["result"] not in (judge.ABSENT, judge.HARM)


@pytest.mark.testbed
def test_a_cell_without_a_result_is_compared_with_the_next_release_that_is_right(tmp_path):
    table = table_of()
    every, _ = table.default_on()
    nothing = matrix.Book(tmp_path / "matrix")
    cells = [cell for cell in every if cell.fix.id == "llama-gemma-rope-autocast" and cell.verdict == "broken"]
    references = {str(table.Table(every, table.Book(tmp_path), nothing)._reference(cell)) for cell in cells}
    assert references == {"4.38.2"}


@pytest.mark.testbed
def test_no_fix_that_is_on_by_default_has_a_harm_in_the_table():
    table = table_of()
    every, fixes = table.default_on()
    book = table.Book()
    done = [program for program in table.chosen(every, fixes) if book.is_done(program)]
    assert [str(program) for program in done if (book.entry(program) or {})["result"] == judge.HARM] == []


# -- planted harms -----------------------------------------------------------------------------------------------------


class Planted:
    """A table that runs one cell of OPT; stock and the reference are run once for all harms."""

    def __init__(self, folder):
        table = table_of()
        every = matrix.every_cell()
        self.cell = next(cell for cell in every if cell.fix.id == "opt-double-scaling" and cell.verdict == "broken")
        self.programs = [program for program in table.programs_of(self.cell) if program.deviation.name != "compiled"]
        self.table = table.Table(every, table.Book(folder), run=self.run)
        self.harm = planted_harms.nothing
        self.kept = {}
        self.runs = self.table._runs
        self.table._runs = self.kept_runs

    def run(self, case, targets, *, hotfix, env, **options):
        from tools.testbed.run import run_many

        planted = {"CASE_PLANT": f"{planted_harms.__name__}:{self.harm.__name__}"} if hotfix else {}
        return run_many(case, targets, hotfix=hotfix, env={**env, **planted}, **options)

    def kept_runs(self, programs, cell, armed, folder, is_whole=False):
        if armed:
            return self.runs(programs, cell, armed, folder, is_whole)
        key = (cell.release, tuple(program.name for program in programs))
        if key not in self.kept:
            self.kept[key] = self.runs(programs, cell, armed, folder, is_whole)
        return self.kept[key]

    def harms(self, harm):
        self.harm = harm
        verdicts = self.table.try_cell(self.programs)
        return {program.name: verdict.detail for program, verdict in verdicts if verdict.result == judge.HARM}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return Planted(tmp_path_factory.mktemp("results"))


@pytest.mark.testbed
@pytest.mark.slow  # the sample holds without a false alarm, too
def test_a_repair_without_a_harm_is_not_reported(planted):
    assert planted.harms(planted_harms.nothing) == {}


@pytest.mark.testbed
@pytest.mark.drawn(1, "deviations")
@pytest.mark.parametrize("harm", planted_harms.HARMS, ids=lambda plant: plant.__name__)
def test_a_planted_harm_is_caught(harm, planted):
    assert planted.harms(harm)


# -- the rule ----------------------------------------------------------------------------------------------------------


def test_stock_that_equals_the_reference_has_to_stay_to_the_bit():
    right = Run(numbers(loss=1.0))
    assert judged(right, right, right).result == judge.SAME
    assert judged(right, right, Run(numbers(loss=1.0 + 1e-6))).result == judge.HARM


def test_stock_that_is_wrong_is_repaired_or_left_alone():
    stock, right = Run(numbers(loss=1.0)), Run(numbers(loss=4.0))
    assert judged(stock, right, right).result == judge.REPAIRED
    assert judged(stock, right, stock).result == judge.LEFT_ALONE
    assert judged(stock, right, Run(numbers(loss=2.0))).result == judge.HARM


def test_results_are_judged_one_by_one():
    stock, right = Run(numbers(a=1.0, b=1.0)), Run(numbers(a=4.0, b=1.0))
    assert judged(stock, right, right).result == judge.REPAIRED
    assert judged(stock, right, Run(numbers(a=4.0, b=4.0))).result == judge.HARM


def test_results_under_the_names_of_the_reference_are_repaired_and_a_lost_one_is_a_harm():
    stock, right = Run(numbers(old=1.0, kept=1.0)), Run(numbers(new=1.0, kept=1.0))
    assert judged(stock, right, right).result == judge.REPAIRED
    assert judged(stock, right, Run(numbers(kept=1.0))).result == judge.HARM
    assert judged(stock, right, Run(numbers(new=1.0))).result == judge.HARM
    assert judged(stock, right, Run(numbers(new=2.0, kept=1.0))).result == judge.HARM


def test_an_error_where_stock_runs_is_a_harm():
    stock, refused = Run(numbers(loss=1.0)), Run(error=("TypeError", "no"))
    assert judged(stock, refused, refused).result == judge.HARM


def test_an_error_of_stock_may_be_repaired_or_stay():
    stock, right = Run(error=("KeyError", "0")), Run(numbers(loss=1.0))
    assert judged(stock, right, right).result == judge.REPAIRED
    assert judged(stock, right, stock).result == judge.LEFT_ALONE
    assert judged(stock, stock, stock).result == judge.SAME


def test_a_result_in_place_of_a_declared_error_is_a_repair_even_with_an_own_class():
    stock, armed = Run({"model read": "NameError: name 'x' is not defined"}), Run(numbers(weight=1.0))
    assert judged(stock, None, armed, strict=True, errors=("NameError: name … is not defined",)).result != judge.HARM
    assert judged(stock, None, armed, strict=True, errors=("TypeError: …",)).result == judge.HARM
    assert judged(stock, None, armed, strict=True).result == judge.HARM


def test_a_program_that_fails_in_stock_may_fail_in_another_place():
    stock, armed = Run({"no row": "RuntimeError: cannot reshape"}), Run({"no row": "IndexError: out of bounds"})
    assert judged(stock, stock, armed).result == judge.LEFT_ALONE
    assert judged(stock, stock, Run({"no row": "nothing"})).result == judge.HARM


def test_a_warning_about_the_bug_may_be_gone():
    right = Run(numbers(loss=1.0))
    stock = Run(right.values, stderr="Some weights were not initialized")
    assert judged(stock, None, right, plain=right).result == judge.SAME
    assert judged(stock, None, right, plain=stock).result == judge.HARM
    assert judged(stock, None, right).result == judge.HARM


def test_ways_that_agree_in_stock_have_to_agree_even_where_the_reference_is_wrong_too():
    agree, differ = (
        {"accumulated loss": torch.tensor(loss), "whole batch loss": torch.tensor(1.0)} for loss in (1.0, 8.0)
    )
    assert judged(Run(agree), Run(differ), Run(differ)).result == judge.HARM


def test_a_program_of_the_users_own_code_must_equal_stock():
    stock, right = Run({"given": "mine"}), Run({"given": "other"})
    assert judged(stock, right, right, strict=True).result == judge.HARM
    assert judged(stock, right, right).result == judge.REPAIRED


def test_changes_left_in_the_process_count():
    right = Run(numbers(loss=1.0), state={"dtype": "float32"})
    assert judged(right, right, Run(right.values, state={"dtype": "bfloat16"})).result == judge.HARM
    assert judged(right, right, Run(right.values, state=right.state, stderr="UserWarning: new")).result == judge.HARM
    assert judged(right, right, Run(right.values, state=right.state, stderr="hotfix: applied")).result == judge.SAME


def test_a_failure_of_hotfix_itself_is_a_harm():
    right = Run(numbers(loss=1.0))
    failed = Run(right.values, stderr="hotfix: x: hotfix itself failed: KeyError: 0; the module is unchanged.")
    assert judged(right, right, failed).result == judge.HARM


def test_every_deviation_describes_its_program_in_one_line():
    assert all(deviation.text and len(deviation.text) < 120 for deviation in DEVIATIONS.values())


def test_a_result_of_another_fix_or_deviation_is_not_done(tmp_path):
    table = table_of()
    every, fixes = table.default_on()
    program = next(candidate for candidate in table.chosen(every, fixes) if candidate.deviation.name == "plain")
    book = table.Book(tmp_path)
    book.enter(program, judge.Verdict(judge.SAME), "5.0.0")
    book.save(program.cell.fix.id)
    again = table.Book(tmp_path)
    assert again.is_done(program)
    again.entry(program)["digest"] = "another"
    assert not again.is_done(program)
