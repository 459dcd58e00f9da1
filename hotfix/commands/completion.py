"""``hotfix completion SHELL``: print the completion script for a shell, or the man page."""

from __future__ import annotations

import argparse
import importlib.util
from typing import Optional

HELP = "print the completion script for a shell, or the man page"
EXAMPLES = (
    "hotfix completion bash > ~/.local/share/bash-completion/completions/hotfix",
    "hotfix completion zsh > ~/.zfunc/_hotfix",
    "hotfix completion fish > ~/.config/fish/completions/hotfix.fish",
    "hotfix completion man > ~/.local/share/man/man1/hotfix.1",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh", "man"))


def run(chosen: argparse.Namespace) -> int:
    """Run the command."""
    from . import CommandError
    from .screen import EXTRA

    if chosen.shell == "man":
        print(man_page(chosen.whole_parser()))
        return 0
    if importlib.util.find_spec("shtab") is None:
        raise CommandError(f"completion needs shtab, which is not installed; install it: {EXTRA}")
    import shtab

    if chosen.shell not in shtab.SUPPORTED_SHELLS:
        raise CommandError(f"this version of shtab does not support {chosen.shell}; pip install --upgrade shtab")
    print(shtab.complete(chosen.whole_parser(), shell=chosen.shell))
    return 0


def man_page(parser: argparse.ArgumentParser) -> str:
    """The man page in man(7) markup, generated from the argument parser.

    Args:
        parser: the parser of the whole command.
    """
    from .. import __version__

    [commands] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    lines = [f'.TH HOTFIX 1 "" "hotfix {__version__}" "User Commands"', ".SH NAME"]
    lines += [f"hotfix \\- {_roff(parser.description)}", ".SH SYNOPSIS", ".B hotfix", ".I COMMAND", "[options]"]
    lines += [".SH COMMANDS"]
    for word, command in commands.choices.items():
        lines += [".SS", f".B hotfix {word}", ".br", _roff(command.description)]
        for action in command._actions:
            if action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction):
                continue
            shown = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            value = "|".join(map(str, action.choices)) if action.choices else (action.metavar or action.dest.upper())
            takes = action.option_strings and action.nargs != 0
            said = command._get_formatter()._expand_help(action) if action.help else ""
            lines += [".TP", f".B {_roff(f'{shown} {value}' if takes else shown)}", _roff(said)]
        examples = (command.epilog or "").partition("Examples:")[2].strip().splitlines()
        lines += [".PP", "Examples:", ".nf", *(f"  {_roff(line.strip())}" for line in examples), ".fi"]
    lines += [".SH EXIT STATUS", _roff("0 nothing found; 1 the command found a problem; 2 bad input.")]
    return "\n".join(line for line in lines if line)


def _roff(text: Optional[str]) -> str:
    """Text for man(7): no line begins with a dot, and hyphens stay hyphens."""
    plain = " ".join((text or "").split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain[:1] in (".", "'") else plain
