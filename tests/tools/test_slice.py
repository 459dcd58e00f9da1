"""The slice of the matrix that runs with the tests: for every fix the first and last broken release, and the next one.

`nox -s matrix` runs all of it.
"""

from __future__ import annotations

import pytest

from tools import evidence, matrix

pytestmark = pytest.mark.testbed


def slice_of_all() -> list[matrix.Cell]:
    # A module that cannot be imported is reported by the sweep's test.
    return matrix.slice_of(matrix.cells(evidence.discover(lambda problem: None)))


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    pytest.importorskip("torch", reason="torch is missing")
    every = matrix.cells(evidence.discover(lambda problem: None))
    # One for all cells: what upstream gives in a release is the before of one and the oracle of another.
    return matrix.Trials(matrix.Book(tmp_path_factory.mktemp("results") / "matrix.json"), every, timeout=300)


@pytest.mark.parametrize("cell", slice_of_all(), ids=str)
def test_repaired_where_broken_and_untouched_next_to_it(cell, trials):
    entry = trials.try_cell(cell)
    assert entry["result"] in matrix.GOOD, entry["reason"]
