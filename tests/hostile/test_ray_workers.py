"""Workers of Ray are separate processes that the raylet starts: the start-up folder reaches them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tools.testbed.run import run_script

pytest.importorskip("torch")
pytestmark = [pytest.mark.testbed, pytest.mark.slow]

PROGRAM = str(Path(__file__).with_name("ray_workers.py"))
FIX = "llama4-moe-score-order"


def answers(tmp_path, *words):
    env = {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0", "HOME": str(tmp_path)}
    path, *rest = words
    done = run_script(path, rest, transformers="4.56.0", flash_attn=None, extras=["ray==2.49.2"], env=env).require()
    return json.loads(done.stdout.splitlines()[-1])


def test_workers_are_repaired_under_hotfix_run(tmp_path):
    for is_armed, repaired in answers(tmp_path, "-m", "hotfix", "run", "--", sys.executable, PROGRAM):
        assert is_armed
        assert FIX in repaired


def test_workers_are_not_without_it(tmp_path):
    assert answers(tmp_path, PROGRAM) == [[False, []], [False, []]]
