"""The page of transcripts: the output of the command, run on releases, on screens of two widths.

    python -m tools.transcripts             writes docs/transcripts.md
    python -m tools.transcripts --check     only checks that every screen fits: 40 lines, no line too wide

Each command runs in a pseudo-terminal like a user's, with the releases of `tools.testbed` on the path, once more for
`hotfix status` without the extra. Only colors, trailing spaces and the folders of this machine are edited.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.testbed import overlay

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "transcripts.md"
LINES = 40
WIDTHS = (80, 60)
STACKS = {
    "transformers 4.49.0 with flash-attn 2.7.4": ("4.49.0", "2.7.4.post1"),
    "transformers 4.54.0": ("4.54.0", ""),
    "transformers 5.3.0": ("5.3.0", ""),
    "a release without these bugs: transformers 5.23.0": ("5.23.0", ""),
    "no transformers": ("", ""),
}
ROTARY = "Input and cos/sin must have the same dtype"
COMMANDS = (
    ("status",),
    ("doctor", "--quick"),
    ("explain", "--error", ROTARY),
    ("explain", "--error", "cannot import name 'Qwen3VLForConditionalGeneration' from 'transformers'"),
    ("scan", "requirements.txt"),
    ("config",),
)
_INTRO = """---
search: { exclude: true }  # the same reports as on the page of the fixes, cut to a screen
---

# What it looks like

Every screen below was printed by the command, on the release that stands above it, in terminals of 80 and of 60
columns; `python -m tools.transcripts` makes this page. `requirements.txt` pins transformers 4.54.0.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.transcripts", description="Write the page of transcripts.")
    parser.add_argument("--check", action="store_true", help="only say whether every screen fits")
    options = parser.parse_args(arguments)
    parts, problems = [_INTRO], []
    for heading, screens in transcripts():
        parts.append(f"## {heading}\n")
        for command, width, text in screens:
            parts.append(f"{width} columns:\n\n```console\n$ {command}\n{text}\n```\n")
            problems += [f"{heading}: {command}: {problem}" for problem in does_not_fit(text, width)]
    if not options.check:
        PAGE.write_text("\n".join(parts), encoding="utf-8")
    print("\n".join(problems) or f"{len(parts) - 1} screens, all of them fit")
    return int(bool(problems))


def transcripts() -> Iterator[tuple[str, list[tuple[str, int, str]]]]:
    """For each stack: command, width and output."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "requirements.txt").write_text("transformers==4.54.0\n")
        for heading, (release, flash) in STACKS.items():
            path = [overlay.overlay(release), *([overlay.flash_attn(flash)] if flash else [])] if release else []
            screens = []
            for words in COMMANDS:
                command = "hotfix " + " ".join(f'"{word}"' if " " in word else word for word in words)
                screens += [(command, width, run(words, path, width, here)) for width in WIDTHS]
            plain = run(("status",), path, WIDTHS[0], here, bare=True)
            screens.append(("hotfix status   # without the extra", WIDTHS[0], plain))
            yield heading, screens


def run(words: Sequence[str], path: Sequence[Path], width: int, cwd: Path, bare: bool = False) -> str:
    """The output of a command on a screen.

    Args:
        words: the arguments of ``hotfix``.
        path: folders for PYTHONPATH.
        width: columns of the screen.
        cwd: where it runs.
        bare: whether only hotfix's requirements can be imported.
    """
    flags = []
    folders = [*map(str, path), str(ROOT)]
    if bare:
        import packaging
        import wrapt

        needed = cwd / ".needed"
        needed.mkdir(exist_ok=True)
        for module in (packaging, wrapt):
            folder = Path(str(module.__file__)).parent
            if not (needed / folder.name).exists():
                (needed / folder.name).symlink_to(folder)
        flags, folders = ["-S"], [*folders, str(needed)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOTFIX") and name != "COLUMNS"}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, width, 0, 0))
    process = subprocess.Popen(
        [sys.executable, *flags, "-m", "hotfix", *words],
        cwd=cwd,
        env={**kept, "PYTHONPATH": os.pathsep.join(folders), "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the error on Linux when the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    process.wait()
    os.close(ours)
    text = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", b"".join(pieces).decode())
    homes = [place for place in sys.path if place and (Path(place) / "hotfix").is_dir()]
    for private, shown in ((str(cwd), "."), *((home, "…") for home in (str(ROOT), *homes)), (sys.executable, "python")):
        text = text.replace(private, shown)
    return "\n".join(line.rstrip() for line in text.replace("\r", "").strip("\n").split("\n"))


def does_not_fit(text: str, width: int) -> list[str]:
    """The errors of a screen, in sentences."""
    lines = text.split("\n")
    problems = [f"{len(lines)} lines"] if len(lines) > LINES else []
    return problems + [f"a line of {len(line)} columns" for line in lines if len(line) > width]


if __name__ == "__main__":
    sys.exit(main())
