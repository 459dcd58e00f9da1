"""Programs that `torch.compile(fullgraph=True)` compiles to one graph keep one graph and their results with hotfix."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.working.models.programs_compiled"


@pytest.mark.parametrize(
    ("program", "release", "fix"),
    [
        ("opt_with_hooks_that_read", "4.52.3", "opt-double-scaling"),
        ("opt_with_hooks_that_change", "4.52.3", "opt-double-scaling"),
        ("llama4_with_hooks_that_read", "4.56.0", "llama4-moe-score-order"),
        ("hybrid_caches", "4.48.0", "gemma2-cohere2-window-crash"),
    ],
)
def test_a_model_stays_in_one_graph(program, release, fix):
    case = f"{PROGRAMS}:{program}"
    stock = run(case, transformers=release, flash_attn=None, hotfix=False).require().tensors
    armed = run(case, transformers=release, flash_attn=None, env={"HOTFIX_ONLY": fix}).require()
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert stock.keys() == armed.tensors.keys()
    assert [name for name in stock if not torch.equal(stock[name], armed.tensors[name])] == []
    assert [line for line in armed.stderr.splitlines() if "hotfix" in line and not line.startswith("hotfix:")] == []
