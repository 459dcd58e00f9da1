"""Programs that have changed a part of the library themselves give the same results with hotfix, bit for bit."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.working.models.programs_changed"


@pytest.mark.parametrize(
    ("program", "release", "fix"),
    [
        ("kernel_that_takes_two_dtypes", "4.48.3", "fa-peft-dtype-check"),
        ("kernel_that_counts_the_query", "4.48.3", "fa-sliding-window-off-by-one"),
        ("kernel_that_counts_the_query", "4.53.3", "fa-sliding-window-off-by-one"),
        ("kernel_of_the_package_replaced", "4.55.0", "fa-sliding-window-off-by-one"),
        ("compiled_in_one_graph", "4.53.3", "fa-sliding-window-off-by-one"),
        ("windows_of_nothing", "4.48.3", "fa-sliding-window-off-by-one"),
        ("cache_cut_by_hand", "4.45.2", "fa2-sliding-window-mask-slicing"),
        ("rotation_of_ones_own", "4.49.0", "flash-rotary-dtype"),
        ("projection_of_ones_own", "4.52.3", "opt-double-scaling"),
        ("projection_with_another_forward", "4.52.3", "opt-double-scaling"),
        ("scale_turned_around", "4.55.0", "gptbigcode-inverse-scale"),
        ("second_turn_behind_padding", "4.56.0", "qwen2vl-decode-delta-left-padding"),
    ],
)
def test_changes_of_the_program_decide(program, release, fix):
    case = f"{PROGRAMS}:{program}"
    stock = run(case, transformers=release, hotfix=False).require().tensors
    armed = run(case, transformers=release, env={"HOTFIX_ONLY": fix}).require()
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert stock.keys() == armed.tensors.keys()
    assert [name for name in stock if not torch.equal(stock[name], armed.tensors[name])] == []
