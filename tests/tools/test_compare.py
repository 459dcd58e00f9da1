"""When two runs of a case have given the same: what verify and the matrix rest on."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from hotfix.proofs.compare import difference  # noqa: E402
from tests.facts import lacking  # noqa: E402

NAN, INF = math.nan, math.inf


def of(*values, dtype=torch.float32):
    return {"out": torch.tensor(values, dtype=dtype)}


@pytest.mark.parametrize(
    "values", [(1.0, -2.0), (NAN, 1.0), (INF, -INF), (0.0, -0.0), (NAN, NAN), ()], ids=lambda values: str(values)
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64], ids=str)
def test_equal_results_have_no_difference_nan_and_infinity_included(values, dtype):
    gap = difference(of(*values, dtype=dtype), of(*values, dtype=dtype))
    assert (gap.relative, gap.absolute, gap.name, gap.over, bool(gap)) == (0.0, 0.0, "", False, False)


@pytest.mark.parametrize(("first", "other"), [(NAN, 1.0), (1.0, NAN), (INF, 1.0), (1.0, INF), (INF, -INF), (NAN, INF)])
def test_nan_or_infinity_where_the_other_has_something_else_is_an_infinite_difference(first, other):
    gap = difference(of(first, 1.0), of(other, 1.0))
    assert (gap.relative, gap.absolute, gap.name, gap.over) == (INF, INF, "out", True)


@pytest.mark.parametrize("missing", ["one", "other"])
def test_a_result_that_only_one_of_them_has_is_a_difference(missing):
    more = {**of(1.0), "loss": torch.tensor(1.0)}
    gap = difference(*((of(1.0), more) if missing == "one" else (more, of(1.0))))
    assert (gap.relative, gap.over) == (INF, True)
    assert lacking(gap.name, "loss", "only one") == []
    assert difference({}, of(1.0)).over
    assert not difference({}, {})


def test_another_shape_is_a_difference_also_where_it_would_broadcast():
    gap = difference(of(1.0), of(1.0, 1.0))
    assert (gap.absolute, lacking(gap.name, "out", "(1,)", "(2,)")) == (INF, [])


def test_the_relative_difference_is_part_of_the_largest_number_of_the_other():
    gap = difference(of(1.0, 8.0), of(2.0, 10.0))
    assert gap.relative == pytest.approx(0.2)
    assert gap.absolute == 2.0


def test_the_largest_of_each_kind_is_told_and_the_name_is_that_of_the_relative_one():
    result = {"large": torch.tensor([1000.0]), "small": torch.tensor([1.0])}
    gap = difference(result, {"large": torch.tensor([1010.0]), "small": torch.tensor([2.0])})
    assert (gap.relative, gap.absolute, gap.name) == (0.5, 10.0, "small")


@pytest.mark.parametrize(
    ("dtypes", "gap", "over"),
    [
        ((torch.bfloat16, torch.bfloat16), 0.01, False),
        ((torch.bfloat16, torch.float32), 0.01, False),
        ((torch.float32, torch.float32), 0.01, True),
        ((torch.float64, torch.float64), 1e-9, True),
        ((torch.int64, torch.int64), 1, True),
    ],
    ids=str,
)
def test_the_coarser_dtype_tells_how_far_results_may_be_apart(dtypes, gap, over):
    result, other = (of(value, dtype=dtype) for value, dtype in zip((1 + gap, 1), dtypes))
    assert difference(result, other).over is over


def test_a_tolerance_may_be_given_for_a_dtype():
    assert not difference(of(1.01), of(1.0), {"float32": 0.1}).over
    assert difference(of(1, dtype=torch.int64), of(2, dtype=torch.int64), {"float32": 9.0}).over


def test_it_is_imported_without_torch():
    code = "import sys, hotfix.proofs.compare; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
