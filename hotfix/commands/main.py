"""The command ``hotfix``, also ``python -m hotfix``.

The parser is the standard library's, so that every ``--json`` works in an environment that has nothing else. Each word
is a module of this package.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn, Optional

from .. import __version__
from ..errors import HotfixError

COMMANDS = {
    "status": "status",
    "doctor": "doctor.command",
    "config": "config",
    "scan": "scan.command",
    "scan-code": "scan_code.command",
    "check-model": "checkpoints.command",
    "explain": "explain.command",
    "list": "listing",
    "diff": "diff.command",
    "verify": "verify.command",
    "run": "run",
    "audit": "audit.command",
    "fleet": "fleet",
    "lock": "lock",
    "digest": "digest",
    "completion": "completion",
}
"""The words and their modules, in the order of ``hotfix --help``."""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the command.

    Args:
        arguments: the words after ``hotfix``; those of the process if None.

    Returns:
        The exit status: 0, 1 where something was found that the user asked for, 2 for bad input.
    """
    # A job that was started with closed streams (`>&-`, some daemons) has no streams.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    first = next((word for word in words if word != "--debug"), "")
    parser = build_parser([first] if first in COMMANDS else COMMANDS)
    if not words:
        parser.print_help(sys.stderr)
        return 2
    if first and first not in COMMANDS and not first.startswith("-"):
        _print_error(f"{_shortened(first)!r} is not a command{_hint(first, COMMANDS)} (see hotfix --help)")
        return 2
    chosen, unknown = parser.parse_known_args(words)
    if unknown:
        command = f"hotfix {chosen.command}"
        _print_error(
            f"{command} has no argument {_shortened(unknown[0])!r}{_option_hint(parser, unknown[0])} "
            f"(see {command} --help)"
        )
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal of ASCII shows the report of a bug as well
    try:
        status: int = chosen.run(chosen)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if chosen.debug:
            raise
        if isinstance(error, OSError) and error.strerror:  # of a file that the user named, or of a full disk
            _print_error(f"{_shortened(str(error.filename or 'output'))}: {error.strerror}")
            return 2
        ours = isinstance(error, HotfixError)
        text = " ".join(str(error).split())
        _print_error(text if ours else f"{type(error).__name__}: {text} (--debug shows where)")
        wanted: int = getattr(error, "status", 2) if ours else 2
        return wanted
    return status


def build_parser(words: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the command.

    Args:
        words: the subcommands that it knows; only their modules are imported.
    """
    parser = _Parser(
        prog="hotfix",
        description="Live patching for model code: list and repair the known bugs of this environment.",
        epilog="`hotfix COMMAND --help` shows examples. Exit status: 0 good, 1 findings, 2 bad input.",
        formatter_class=_formatter(),
    )
    parser.add_argument("--version", action="version", version=f"hotfix {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for word in words:
        module: Any = import_module(f".{COMMANDS[word]}", __package__)
        examples = "\n".join(f"  {line}" for line in module.EXAMPLES)
        command = commands.add_parser(
            word,
            help=module.HELP,
            description=f"{module.HELP[0].upper()}{module.HELP[1:]}.",
            epilog=f"Examples:\n{examples}",
            formatter_class=_formatter(),
        )
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        module.arguments(command)
        command.set_defaults(run=module.run, whole_parser=build_parser)  # completion is a script for all commands
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with one line instead of the usage as well."""
        _print_error(f"{message} (see {self.prog} --help)")
        raise SystemExit(2)


def _formatter() -> Any:
    """The formatter of ``--help``: in colour on a terminal if the extra is installed."""
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        try:
            from rich_argparse import RawDescriptionRichHelpFormatter
        except ImportError:
            return argparse.RawDescriptionHelpFormatter
        return RawDescriptionRichHelpFormatter
    return argparse.RawDescriptionHelpFormatter


def _hint(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _option_hint(parser: argparse.ArgumentParser, word: str) -> str:
    """The nearest option of the command that was given."""
    actions = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    options = [option for command in actions.choices.values() for option in command._option_string_actions]
    return _hint(word.partition("=")[0], options) if word.startswith("--") else ""


def _nowhere() -> Any:
    return open(os.devnull, "w", encoding="utf-8")  # until the process ends


def _shortened(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:100]}...{text[-97:]}"


def _print_error(sentence: str) -> None:
    from ..reports.tables import clean

    print(f"hotfix: {clean(sentence)}", file=sys.stderr)
