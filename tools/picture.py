"""README's pictures: the output of the real command on the first of the founding stacks, as SVG.

    python -m tools.picture            write docs/images/status.svg and status-narrow.svg
    python -m tools.picture --check    exit with 1 if the command's output differs from the pictures

The narrow one is for phones: a picture is scaled to the width of the screen, and its text with it. The command runs in
a fresh process with the release and flash-attn on its path, as in the tests.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tools.testbed import overlay

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PICTURES = {IMAGES / "status.svg": 88, IMAGES / "status-narrow.svg": 44}  # columns
COMMANDS = (("status",), ("scan", "requirements.txt"))
REQUIREMENTS = "transformers==4.49.0\nflash-attn==2.7.4.post1\ntorch==2.5.1\n"
RELEASE, FLASH_ATTN = "4.49.0", "2.7.4.post1"
LINES = 16  # of each command


def main() -> int:
    """Draw or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    chosen = parser.parse_args()
    status = 0
    for picture, columns in PICTURES.items():
        svg = draw([(command, printed(command, columns)) for command in COMMANDS], columns)
        if not chosen.check:
            picture.parent.mkdir(exist_ok=True)
            picture.write_text(svg, encoding="utf-8")
        elif not picture.is_file() or picture.read_text(encoding="utf-8") != svg:
            print(f"python -m tools.picture would change {picture.relative_to(ROOT)}")
            status = 1
    return status


def printed(command: tuple[str, ...], columns: int) -> str:
    """The output of a command in a terminal of this width, with its colours."""
    import tempfile

    folders = [overlay.overlay(RELEASE), overlay.flash_attn(FLASH_ATTN), ROOT]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX")}
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(columns)}
    environment = {**kept, **colours, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    environment.pop("NO_COLOR", None)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "requirements.txt").write_text(REQUIREMENTS)
        done = subprocess.run(
            [sys.executable, "-m", "hotfix", *command], env=environment, cwd=folder, capture_output=True, check=True
        )
    return done.stdout.decode()


def draw(outputs: list[tuple[tuple[str, ...], str]], columns: int) -> str:
    """The picture of a terminal in which the commands were typed. It loads nothing from anywhere."""
    console = Console(record=True, width=columns, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    for command, output in outputs:
        console.print(Text("$ ", style="green") + Text(f"hotfix {' '.join(command)}", style="bold"))
        lines = [line.rstrip() for line in output.rstrip().splitlines()]
        if len(lines) > LINES:
            lines = [*lines[: LINES - 1], "..."]
        console.print(Text.from_ansi("\n".join(lines)))
        console.print()
    svg = console.export_svg(title="hotfix", unique_id="hotfix")
    return re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.S)


if __name__ == "__main__":
    sys.exit(main())
