"""Serving engines count the tokens of an image themselves, and take the pixels from transformers.

vLLM and sglang reserve room in the prompt by a rule of their own (`tests.hostile.counting`), and take the pixels of
Qwen2-VL and Qwen2.5-VL from transformers' image processors. If the two differ, a request fails, or worse.

- With the repairs, both numbers are equal: for 50 sizes of images, slow and fast processors, limits in the checkpoint,
  at loading, and in the call, on releases that the engines pin.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hotfix.proofs.processing._pictures import PACKAGES
from tests.hostile import counting
from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


def tables(release, kinds, hotfix=True):
    result = run(
        "tests.hostile.counting:tables",
        transformers=release,
        hotfix=hotfix,
        flash_attn=None,
        extras=[f"torchvision=={PACKAGES['torchvision']}"],
        target=SimpleNamespace(module="", qualname=kinds),
    )
    return result.require().tensors


def test_there_are_fifty_sizes():
    assert len(set(counting.SIZES)) == 50


@pytest.mark.drawn(1, "stacks")
@pytest.mark.parametrize(
    ("release", "kinds"),
    [
        ("4.48.2", "slow"),  # vLLM 0.7
        ("4.49.0", "slow, fast"),  # vLLM 0.7.3 to 0.8.1
        pytest.param("4.50.0", "slow, fast", marks=pytest.mark.slow),  # sglang 0.4.4
        ("4.51.3", "slow, fast"),  # vLLM 0.8.5 to 0.9.1
        pytest.param("4.53.2", "slow, fast", marks=pytest.mark.slow),  # vLLM 0.10, sglang 0.4.9
    ],
)
def test_an_engine_counts_the_tokens_that_the_processor_makes(release, kinds):
    table = tables(release, kinds)
    assert len(table) == len(kinds.split(", ")) * len(counting.CONFIGURATIONS) * (len(counting.REQUESTS) + 1)
    # Since 4.50.0 fast processors keep limits that a checkpoint stores as a size only in the size, and the attribute is
    # None: vLLM has no limits to count by, with hotfix or without.
    empty = {name for name, rows in table.items() if not len(rows)}
    alone = {f"vllm: fast, size, {limits}" for limits in ("none", "max_pixels", "min_pixels")}
    assert empty == (alone if release not in ("4.48.2", "4.49.0") else set())
    wrong = {name: rows[rows[:, 2] != rows[:, 3]].tolist() for name, rows in table.items()}
    assert {name: rows[:3] for name, rows in wrong.items() if rows} == {}
