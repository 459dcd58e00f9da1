"""Programs that probe their environment choose the same with hotfix as without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

HERE = Path(__file__).parent
_, *PARTS = re.split(r"^== (.+)\n", (HERE / "probes.txt").read_text("utf-8"), flags=re.M)
PROGRAMS = dict(zip(PARTS[::2], PARTS[1::2]))
START = HERE / "_probes_start.py"
OLDER = ("4.38.2", "4.49.0", "5.0.0")
EXTRAS = ["accelerate==1.10.1"]


def test_there_are_thirty():
    assert len(PROGRAMS) >= 30


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "release", [*(pytest.param(older, marks=pytest.mark.slow) for older in OLDER), "4.57.6", "5.23.0"]
)
def test_a_program_that_probes_chooses_the_same(release, tmp_path):
    for name, text in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    stock, armed = (_outputs(release, hotfix, tmp_path) for hotfix in (False, True))
    assert stock.keys() == PROGRAMS.keys()
    assert not [name for name, output in stock.items() if not output.endswith("status 0\n")]
    assert {name: output for name, output in armed.items() if output != stock[name]} == {}


def _outputs(release, hotfix, folder):
    env = {"PROGRAMS": str(folder)}
    result = run(START, transformers=release, flash_attn=None, extras=EXTRAS, hotfix=hotfix, env=env).require()
    assert "itself failed" not in result.stderr
    _, *parts = re.split(r"^== (.+)\n", result.stdout, flags=re.M)
    return dict(zip(parts[::2], parts[1::2]))
