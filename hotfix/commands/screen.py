"""The output of a command: tables, colours and a progress bar on a terminal, plain text elsewhere.

``rich`` is imported only where it is used: on a terminal, or with ``FORCE_COLOR``. Text in a pipe has
no colours and no line breaks inside of a row, so that ``grep`` and ``cut`` work on it. ``NO_COLOR`` and ``TERM=dumb``
are obeyed. Text from files is printed without its control characters.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Optional

from ..reports.tables import clean, fitted_table, has_room, plain_table, rich_stack, rich_table

EXTRA = "pip install rich rich-argparse shtab PyYAML"


class Screen:
    """The output of a command, on stdout.

    Attributes:
        console: the console of ``rich``, or None for plain text.
        width: the number of columns; None in a pipe.
    """

    def __init__(self) -> None:
        self.console: Any = _console()
        self.width = _width(self.console)
        if self.console is None and importlib.util.find_spec("rich") is None:
            sentence = f"hotfix: plain text, since rich is not installed; {EXTRA} brings tables and colours"
            print(textwrap.fill(sentence, self.width or 1000), file=sys.stderr)

    def line(self, text: str = "", style: str = "") -> None:
        """Print one paragraph."""
        if self.console is None:
            lines = (
                [clean(text)]
                if self.width is None
                else textwrap.wrap(clean(text), self.width, break_on_hyphens=False) or [""]
            )
            print("\n".join(lines))
        else:
            self.console.print(clean(text), style=style or None)

    def row(self, text: str) -> None:
        """Print one line unchanged, with its blanks."""
        if self.console is None:
            print(clean(text))
        else:
            self.console.print(clean(text), soft_wrap=True)

    def table(
        self,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        cut: bool = False,
        stacked: Optional[Iterable[Sequence[str]]] = None,
    ) -> None:
        """Print a table; words such as ``broken`` are coloured. On a narrow screen its rows are stacked.

        Args:
            columns: the headings.
            rows: the cells.
            cut: whether the last cell of a row is cut off and not folded.
            stacked: the cells for stacked rows, in words that need no heading; the same by default.
        """
        cells = [[clean(cell) for cell in row] for row in rows]
        if self.width is not None and not has_room(columns, cells, self.width):
            cells = [[clean(cell) for cell in row] for row in stacked] if stacked is not None else cells
            if self.console is None:
                print(fitted_table(columns, cells, self.width, cut))
            else:
                self.console.print(rich_stack(cells, self.width, cut))
        elif self.console is None:
            print(plain_table([list(columns), *cells]))
        else:
            self.console.print(rich_table(columns, cells, self.width if cut and self.width else 0))

    def facts(self, rows: Sequence[tuple[str, str]]) -> None:
        """Print names and values, one pair below the other."""
        cells = [(clean(name), clean(value)) for name, value in rows]
        if self.console is None:
            print(plain_table(cells) if self.width is None else _folded(cells, self.width))
            return
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in cells:
            grid.add_row(Text(name, style="bold"), Text(value))
        self.console.print(grid)

    def diff(self, lines: Iterable[str]) -> None:
        """Print the lines of a unified diff."""
        colours = {"+": "green", "-": "red", "@": "cyan"}
        for line in lines:
            heading = line.startswith(("---", "+++"))
            if self.console is None:
                print(clean(line))
            else:
                style = "bold" if heading else colours.get(line[:1], "")
                self.console.print(clean(line), style=style or None, soft_wrap=True)


SECONDS_BETWEEN_LINES = 30


@contextmanager
def progress(screen: Optional[Screen], steps: int, what: str) -> Iterator[Callable[[str], None]]:
    """Show a progress bar on a terminal; elsewhere a line on stderr every 30 seconds.

    The caller calls the yielded function with a line before each step.

    Args:
        screen: the screen of the command; None if stdout gets JSON.
        steps: how often the caller will call it.
        what: the name of the work.
    """
    if screen is None or screen.console is None or not sys.stdout.isatty():
        yield _lines(steps, what)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen.console, transient=True) as bar:
        task = bar.add_task(what, total=steps)
        advanced = [False]

        def step(line: str) -> None:
            bar.update(task, advance=int(advanced[0]), description=line)
            advanced[0] = True

        yield step


def _lines(steps: int, what: str) -> Callable[[str], None]:
    """A function that counts steps, and prints a line once enough seconds have passed."""
    began = printed = time.monotonic()
    done = 0

    def step(line: str) -> None:
        nonlocal done, printed
        now = time.monotonic()
        if now - printed >= SECONDS_BETWEEN_LINES:
            printed = now
            print(f"{what}: {done} of {steps} steps in {now - began:.0f} seconds; next is {line}", file=sys.stderr)
            sys.stderr.flush()
        done += 1

    return step


def _folded(cells: Sequence[tuple[str, str]], width: int) -> str:
    """Names and values, folded to the width of the screen."""
    indent = max(len(name) for name, _ in cells) + 2
    lines = []
    for name, value in cells:
        folded = textwrap.wrap(value, max(width - indent, 20), break_on_hyphens=False) or [""]
        lines += [f"{name:{indent}}{folded[0]}", *(" " * indent + line for line in folded[1:])]
    return "\n".join(line.rstrip() for line in lines)


def _width(console: Any) -> Optional[int]:
    """The columns of the screen; None in a pipe, where a row is a line."""
    if console is not None:
        width: int = console.width
        return width
    return max(shutil.get_terminal_size().columns, 20) if sys.stdout.isatty() else None


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, allow_nan=False))


def _console() -> Optional[Any]:
    forced = bool(os.environ.get("FORCE_COLOR"))
    if os.environ.get("TERM") == "dumb" or not (sys.stdout.isatty() or forced):
        return None
    if importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        highlight=False,
        markup=False,
        emoji=False,
        no_color=plain,
        color_system=None if plain else "auto",
        force_terminal=True if forced and not plain else None,
    )
