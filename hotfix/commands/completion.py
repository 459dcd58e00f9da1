"""``hotfix completion SHELL``: the script that completes the command in a shell."""

from __future__ import annotations

import argparse
import importlib.util

HELP = "print the completion script for a shell"
EXAMPLES = (
    "hotfix completion bash > ~/.local/share/bash-completion/completions/hotfix",
    "hotfix completion zsh > ~/.zfunc/_hotfix",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import CommandError
    from .screen import EXTRA

    if importlib.util.find_spec("shtab") is None:
        raise CommandError(f"completion needs shtab, which is not installed: {EXTRA}")
    import shtab

    print(shtab.complete(chosen.whole_parser(), shell=chosen.shell))
    return 0
