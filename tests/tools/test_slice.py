"""The part of the matrix that runs with the tests: changed cells, three cells of each fix, and a sample.

These cells run: those with a bad result, or a result of other code of the fix or case; and of each fix the first and
the last broken release and the one after it, unless they have passed. After a change in a module that many fixes
share these are many. Run `nox -s matrix` first then: it stores the results, can be interrupted, and unpacks each
release once.

Of the cells that have passed a sample runs. It is sampled by commit hash, so every cell has its turn in time, and the
tests of one commit are the same everywhere. Its size does not grow with the number of fixes. Cells that never ran are
open on the page of the matrix, and `nox -s full` runs them.
"""

from __future__ import annotations

import pytest

from tests import drawn
from tools import matrix, results

pytestmark = pytest.mark.testbed

SAMPLE = 4  # about half a minute on two cores


def chosen() -> list[object]:
    """Each with what its group shares: cells that were not done an oracle, the sample a release."""
    every, book = matrix.every_cell(), matrix.Book(results.FOLDER)
    first = {id(cell) for cell in matrix.slice_of(every)}
    wanted = [cell for cell in every if not book.is_done(cell) and (book.entry(cell) or id(cell) in first)]
    wanted.sort(key=lambda cell: (cell.fix.id, cell.release))
    sample = matrix.sample_of([cell for cell in every if book.is_done(cell)], SAMPLE, drawn.commit())
    sample.sort(key=lambda cell: (cell.release, cell.fix.id))  # fixes differ in the packages installed with the release
    groups = [(cell, cell.fix.id) for cell in wanted] + [(cell, str(cell.release)) for cell in sample]
    return [pytest.param(cell, marks=pytest.mark.shares(group), id=str(cell)) for cell, group in groups]


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    pytest.importorskip("torch", reason="torch is missing")
    # One for all cells: what upstream gives in a release is the before of one and the oracle of another.
    book = matrix.Book(tmp_path_factory.mktemp("results") / "matrix")
    return matrix.Trials(book, matrix.every_cell(), timeout=300)


@pytest.mark.parametrize("cell", chosen())
def test_repaired_where_broken_and_untouched_next_to_it(cell, trials):
    entry = trials.try_cell(cell)
    assert entry["result"] in matrix.GOOD, entry["reason"]
