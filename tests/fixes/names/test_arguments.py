"""Programs that are prepared for a missing argument or part, or have their own, notice nothing."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.fixes.names.programs_arguments"


@pytest.mark.parametrize(
    ("program", "release", "fix"),
    [("masks", "5.23.0", "arguments-renamed"), ("parts_of_ones_own", "5.5.4", "vision-parts-moved")],
)
def test_code_with_a_fallback_or_its_own_name_gets_the_releases_answer(program, release, fix):
    stock = run(f"{PROGRAMS}:{program}", transformers=release, hotfix=False).require().tensors
    armed = run(f"{PROGRAMS}:{program}", transformers=release, env={"HOTFIX_ONLY": fix}).require()
    assert armed.report is not None
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert stock.keys() == armed.tensors.keys()
    assert all(torch.equal(stock[name], armed.tensors[name]) for name in stock)


def test_two_names_of_one_argument_are_refused():
    error = run(f"{PROGRAMS}:both_names", transformers="5.23.0", env={"HOTFIX_ONLY": "arguments-renamed"}).error
    assert error is not None
    assert error[0] == "TypeError"
    assert "input_embeds" in error[1]
