"""Programs with encoder-decoders that work without hotfix give the same results with it, bit for bit."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


@pytest.mark.parametrize(
    "program", ["with_a_workaround", "without_padding", "without_an_argument", "with_longer_encoder_outputs"]
)
def test_right_generation_is_not_changed(program):
    case, fix = f"tests.working.models.programs_encoder_decoders:{program}", "generate-encoder-mask-dropped"
    stock = run(case, transformers="4.49.0", hotfix=False).require().tensors
    armed = run(case, transformers="4.49.0", env={"HOTFIX_ONLY": fix}).require()
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert stock.keys() == armed.tensors.keys()
    assert all(torch.equal(stock[name], armed.tensors[name]) for name in stock)
