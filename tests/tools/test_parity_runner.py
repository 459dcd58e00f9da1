"""The verdicts of the parity plan's runner on given results, without a device."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tests.facts import lacking  # noqa: E402
from tools.studies.parity.plan import Entry, Run  # noqa: E402
from tools.studies.parity.runner import Done, Place, examine  # noqa: E402

APPLIED = {"outcomes": [{"fix": "some-fix", "state": "applied"}]}
MESSAGE = "`token_type_ids` is required as a model input when training"


class Told(Place):
    """Runs nothing: without hotfix there is an error, with it a tensor."""

    def run(self, run: Run) -> Done:
        error = None if run.hotfix else ["ValueError", MESSAGE, ""]
        results = {"error": error, "report": APPLIED, "kernels": {}, "versions": {}, "seconds": 0.0}
        return Done(results, {} if error else {"out": torch.ones(2)})


def problems(raises):
    entry = Entry("case/some-fix", "some-fix", "module:name", "bfloat16", Run("module:case", {}), raises, {})
    return examine(entry, Told("cpu"))["problems"]


@pytest.mark.parametrize("raises", ["ValueError: `(mm_)?token_type_ids` is required", "is required as a model input"])
def test_the_error_of_a_case_is_a_pattern_as_everywhere(raises):
    assert problems(raises) == []


def test_another_error_is_a_problem():
    (problem,) = problems("TypeError: `(mm_)?token_type_ids`")
    assert lacking(problem, "without hotfix", "'TypeError: `(mm_)?token_type_ids`'", f"'ValueError: {MESSAGE}'") == []
