"""The picture of docs/audit.md: the loss of one script with the bug, repaired, and on the release that fixed it.

    python -m tools.story            write docs/images/audit.svg
    python -m tools.story --check    exit with 1 if the runs give another picture

`examples/sft.py` runs unchanged, except that each step logs one line.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools.testbed import overlay

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "examples" / "sft.py"
PICTURE = ROOT / "docs" / "images" / "audit.svg"
EXTRAS = ("accelerate==1.15.0",)


class Run(NamedTuple):
    """One line of the picture.

    Attributes:
        name: its label.
        release: of transformers.
        switches: hotfix is armed with these; None: without hotfix.
        colour: of the line.
        dashes: of the line; empty for none.
    """

    name: str
    release: str
    switches: dict[str, str] | None
    colour: str
    dashes: str


RUNS = (
    Run("4.48.0, observed", "4.48.0", {"HOTFIX_MODE": "observe"}, "#c62828", ""),
    Run("4.48.0, repaired", "4.48.0", {}, "#1565c0", ""),
    Run("4.49.0, without hotfix", "4.49.0", None, "#2e7d32", "2 6"),
)
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 400, 340, 56, 116, 16, 16  # a phone shows it in its own size
STYLE = "font-family:sans-serif;font-size:13px"


def losses(run: Run) -> list[float]:
    """The loss of each step of a run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX")}
    folders = [str(overlay.overlay(run.release, EXTRAS)), str(ROOT)]
    environment = {**kept, **(run.switches or {}), "PYTHONPATH": os.pathsep.join(folders), "OMP_NUM_THREADS": "1"}
    text = SCRIPT.read_text(encoding="utf-8").replace("logging_steps=4", "logging_steps=1")
    armed = [] if run.switches is None else ["-c", "import hotfix.auto, runpy; runpy.run_path('sft.py')"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sft.py").write_text(text, encoding="utf-8")
        command = [sys.executable, *(armed or ["sft.py"])]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    rows = [ast.literal_eval(line) for line in done.stdout.splitlines() if line.startswith("{'loss'")]
    return [float(row["loss"]) for row in rows]


def draw(curves: Sequence[tuple[Run, Sequence[float]]]) -> str:
    """The picture as SVG, of runs and their losses."""
    steps = max(len(values) for _, values in curves)
    highest = 4 * (int(max(max(values) for _, values in curves)) // 4 + 1)
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def place(step: float, loss: float) -> str:
        return f"{LEFT + width * (step - 1) / (steps - 1):.1f},{TOP + height * (1 - loss / highest):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="Loss of the same script: {", ".join(run.name for run, _ in curves)}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for loss in range(0, highest + 1, 4):
        y = place(1, loss).partition(",")[2]
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + width}" y1="{y}" y2="{y}" stroke="#e0e0e0"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{float(y) + 4:.1f}" text-anchor="end" style="{STYLE}">{loss}</text>')
    for step in range(2, steps + 1, 2):
        x = place(step, 0).partition(",")[0]
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" style="{STYLE}">{step}</text>')
    middle = LEFT + width / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - BOTTOM + 38}" text-anchor="middle" style="{STYLE}">step</text>')
    parts.append(f'<text x="14" y="{TOP + height / 2}" style="{STYLE}">loss</text>')
    for number, (run, values) in enumerate(curves):
        points = " ".join(place(step, loss) for step, loss in enumerate(values, 1))
        line = f'fill="none" stroke="{run.colour}" stroke-width="2" stroke-dasharray="{run.dashes or "none"}"'
        parts.append(f'<polyline points="{points}" {line}/>')
        beside, row = LEFT, HEIGHT - BOTTOM + 64 + 20 * number
        parts.append(f'<polyline points="{beside},{row - 4} {beside + 24},{row - 4}" {line}/>')
        parts.append(f'<text x="{beside + 32}" y="{row}" style="{STYLE}">{run.name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw or compare; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.story", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    chosen = parser.parse_args(arguments)
    svg = draw([(run, losses(run)) for run in RUNS])
    if chosen.check:
        same = PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == svg
        print("the picture is right" if same else f"python -m tools.story would change {PICTURE.relative_to(ROOT)}")
        return int(not same)
    PICTURE.write_text(svg, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
