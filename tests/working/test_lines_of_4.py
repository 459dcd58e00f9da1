"""Lines of programs for 4.x on other releases: what runs gives the same with hotfix, and most of what ends runs."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

HERE = Path(__file__).parent
_, *PARTS = re.split(r"^== (\w+)\n", (HERE / "lines_of_4.txt").read_text("utf-8"), flags=re.M)
# Those that end with hotfix, too, in one of the releases.
STILL_END: dict[str, str] = {}


def program(folder: Path) -> Path:
    functions = [
        f"def {name}():\n{textwrap.indent(body.strip(), '    ')}\n\n\n" for name, body in zip(PARTS[::2], PARTS[1::2])
    ]
    written = folder / "program.py"
    start = (HERE / "_lines.py").read_text("utf-8")
    written.write_text(f"{start}\n\n{''.join(functions)}main([{', '.join(PARTS[::2])}])\n", encoding="utf-8")
    return written


def lines(folder: Path, release: str, hotfix: bool) -> dict[str, str]:
    """What each case prints, by its name."""
    extras = ["accelerate==1.10.1", "pillow==11.3.0"]
    result = run(program(folder), transformers=release, flash_attn=None, extras=extras, hotfix=hotfix).require()
    every = (line for line in result.stdout.splitlines() if line.startswith(("runs ", "ends ")))
    return {line.split()[1]: line for line in every}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("release", ["4.57.6", "5.0.0", "5.23.0"])
def test_what_runs_stays_and_most_of_the_rest_runs(release, tmp_path):
    stock, armed = (lines(tmp_path, release, hotfix) for hotfix in (False, True))
    assert stock.keys() == armed.keys() == {*PARTS[::2]}
    differ = [(line, armed[name]) for name, line in stock.items() if line.startswith("runs") and armed[name] != line]
    assert not differ
    assert {name for name, line in armed.items() if line.startswith("ends")} <= STILL_END.keys()
