"""The report matches the running code next to other packages, the real ones, in either order.

- A package that rewrites a function of transformers, before or after its repair, has the last word, and the report
  says so.
- A module in which a package checks types, or wraps each function, stays as it is: that code was never examined.
- Packages that only watch (import hooks, tracers, coverage) do not prevent a repair, and are not disturbed by it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.conftest import ROOT
from tools.beside import CELLS, NEIGHBOURS, RELEASE, WATCHERS, WITHOUT, Cell
from tools.testbed import overlay
from tools.testbed.run import environment

from .conftest import World

pytest.importorskip("torch")
FEW = ("axolotl", "typeguard")


@pytest.mark.testbed
@pytest.mark.drawn(1, "stacks")
@pytest.mark.parametrize(
    ("neighbour", "order", "cell"),
    [
        pytest.param(*key, cell, id=", ".join(key), marks=() if key[0] in FEW else pytest.mark.slow)
        for key, cell in CELLS.items()
    ],
)
def test_the_running_code_matches_the_report(neighbour: str, order: str, cell: Cell) -> None:
    result = run(neighbour, order)
    assert result["factors"] == {"encoder": cell.factor, "decoder": None if cell.factor is None else 1.0}
    verdict, state, reason = result["report"][cell.target]
    assert [verdict, state] == cell.outcome.split(", ")
    assert re.search(cell.reason, reason), reason


def test_every_row_of_the_page_is_a_test() -> None:
    assert {order for _, order in CELLS} == {"hotfix first", "hotfix last"}
    assert {name for name, _ in CELLS} == set(NEIGHBOURS)
    there = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert [name for *_, name in WATCHERS if f"def {name}(" not in there] == []


@pytest.mark.testbed
@pytest.mark.slow
@pytest.mark.parametrize("neighbour", ["axolotl", "typeguard", "snoop"])
def test_without_hotfix_the_gradients_are_wrong(neighbour: str) -> None:
    assert run(neighbour, "without")["factors"]["encoder"] == WITHOUT


def run(neighbour: str, order: str):
    """The output of `tools.beside` in a child."""
    release, together, alone = NEIGHBOURS[neighbour].packages
    folders = [overlay.overlay(release or RELEASE, together), *map(overlay.alone, alone)]
    env = environment(folders, {"OMP_NUM_THREADS": "1"})
    command = [sys.executable, "-m", "tools.beside", neighbour, order]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


EDIT = """
from hotfix.fix import Fix

FIX = Fix(id="toy-edit", title="adds", kind="silent")
FIX.edits("transformers.toy:scale", old="__X + __Y", new="__X * __Y")
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_coverage_counts_the_lines_of_a_repaired_function(world: World, version: str) -> None:
    """Uses the default measurement of that Python: a tracer, or `sys.monitoring`."""
    here = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), shutil.which(f"python{version}")]
    python = str(here[0] or "")
    if not python:
        pytest.skip(f"no Python {version} here")
    world.plant("toy-edit", EDIT, {"transformers.toy:scale": "==1.0"}, {"transformers.toy:scale": "scale"})
    script = world.script("import hotfix.auto\nimport transformers.toy as toy\nassert toy.scale(5) == 10\n")
    coverage = [sys.executable, "-m", "uv", "run", "--quiet", "--no-project", "--python", python]
    coverage += ["--with", "coverage==7.10.7", "--with", "wrapt", "--with", "packaging", "python", "-m", "coverage"]
    # Not the packages of this Python, because one of them is compiled.
    env = {**world.environment(HOTFIX_SKIP="toy-scale"), "PYTHONPATH": f"{world.folder}{os.pathsep}{ROOT}"}
    for arguments in (["run", "--include", "*/transformers/toy.py", str(script)], ["json", "-q", "-o", "-"]):
        done = subprocess.run(
            [*coverage, *arguments], env=env, cwd=world.folder, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    (counted,) = json.loads(done.stdout)["files"].values()
    lines = (world.folder / "transformers" / "toy.py").read_text().splitlines()
    assert lines.index("    return x + factor") + 1 in counted["executed_lines"]
