"""Common operations on every model, with all fixes that are on by default: the results equal those without hotfix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAM = Path(__file__).parent / "packages" / "everyday_models.py"


def facts(release, family, armed):
    """The output lines of a program; see ``python -m tools.working`` for more families and releases."""
    env = {"EVERYDAY": family, "WORKING_ARMED": armed, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    lines = run_script(PROGRAM, transformers=release, flash_attn=None, env=env).require().stdout.splitlines()
    return [re.sub(r"0x[0-9a-f]+|/tmp/[\w./-]+", "", line) for line in lines]


@pytest.mark.parametrize("family", ["llama", "own"])
@pytest.mark.parametrize(
    "release", ["4.57.6", "5.0.0", *(pytest.param(release, marks=pytest.mark.slow) for release in ("5.23.0", "5.24.0"))]
)
def test_nothing_changes(release, family):
    """Failed when a missing attribute of a configuration ended `torch.compile` in a RecursionError."""
    stock = facts(release, family, "")
    assert any("compiled" in line for line in stock)
    assert facts(release, family, "1") == stock
