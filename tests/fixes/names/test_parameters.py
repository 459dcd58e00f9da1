"""Arguments that a release does not take any more, or that an override does not take yet."""

from __future__ import annotations

import pytest

from tests.fixes.names import programs_parameters as programs
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

FIXES = ("parameters-newer", "parameters-removed")


@pytest.mark.parametrize("release", ["4.57.6", "5.0.0", "5.23.0"])
def test_overrides_as_users_write_them(release):
    accelerate = {"transformers": release, "flash_attn": None, "extras": ("accelerate==1.15.0",), "timeout": 900}
    program = "tests.fixes.names.programs_parameters:shapes"
    stock = run(program, hotfix=False, **accelerate).require().tensors
    armed = run(program, env={"HOTFIX_ONLY": ",".join(FIXES), "HOTFIX_OPTIN": "removed-names"}, **accelerate).require()
    assert armed.report is not None
    assert {row["fix"] for row in armed.report["outcomes"] if row["state"] == "applied"} == {*FIXES}
    ending = {name for name in programs.ENDING if stock[name].eq(-1).all()}
    assert len(ending) >= {"4.57.6": 15, "5.0.0": 16, "5.23.0": 16}[release], sorted(programs.ENDING.keys() - ending)
    for name in programs.ENDING:
        assert torch.equal(armed.tensors[name], armed.tensors[programs.TWIN[name]]), name
    for name in {*stock} - ending:
        assert torch.equal(armed.tensors[name], stock[name]), name


def test_a_compiled_forward_that_passes_a_removed_argument_stays_one_graph():
    program = "tests.fixes.names.programs_parameters:compiled"
    error = run(program, transformers="5.0.0", flash_attn=None, hotfix=False).error
    assert error is not None
    assert error[0] == "TypeError"
    armed = run(
        program, transformers="5.0.0", flash_attn=None, env={"HOTFIX_ONLY": FIXES[1], "HOTFIX_OPTIN": "removed-names"}
    ).require()
    assert armed.tensors["same"].all()
