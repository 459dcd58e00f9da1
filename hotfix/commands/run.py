"""``hotfix run``: run a command with hotfix armed in every Python process that it starts."""

from __future__ import annotations

import argparse

HELP = "run a command with hotfix armed in all its Python processes"

EXAMPLES = (
    "hotfix run -- torchrun --nproc-per-node 8 train.py",
    "HOTFIX_RECORD=records hotfix run -- accelerate launch train.py",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="the command and its arguments")


def run(chosen: argparse.Namespace) -> int:
    """Become the command; returns only by an error."""
    from . import launch

    command = list(chosen.program)
    launch.run(command[1:] if command[:1] == ["--"] else command)
