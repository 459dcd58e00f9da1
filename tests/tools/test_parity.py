"""The plan on a GPU; see `tools.studies.parity.plan`."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tools.studies.parity import plan, runner  # noqa: E402

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device: torch.cuda.is_available() is False"),
]


@pytest.mark.parametrize("entry", plan.entries("real"), ids=lambda entry: entry.name)
def test_broken_before_and_right_after_on_cuda(entry):
    assert runner.examine(entry, runner.usual_place("cuda"))["problems"] == []
