"""Tables with one row for each fix; a report has one outcome for each target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

from ..engine.entry import Entry
from ..engine.ledger import Outcome, State
from ..versions.judgement import Verdict

COLUMNS = ("fix", "kind", "verdict", "state", "what")
ALL_COLUMNS = (*COLUMNS[:-1], "reason")
TARGET_COLUMNS = ("fix", "target", "verdict", "state", "reason")
_NAMED = 4
WIDE = 100  # columns, below which a table is stacked, unless all of it fits
_LEAST = 30  # columns for the last cell, below which a table is stacked
_WORDS = {
    Verdict.FIXED: "right",
    Verdict.ABSENT: "not in this release",
    Verdict.UNAFFECTED: "not affected",
}

STYLES = {
    "broken": "yellow",
    "pending": "green",
    "applied": "green",
    "observed": "yellow",
    "repaired": "green",
    "verified": "green",
    "fixed": "dim",
    "absent": "dim",
    "skipped": "dim",
    "unaffected": "dim",
    "ok": "green",
    "note": "cyan",
    "unknown": "magenta",
    "foreign": "magenta",
    "disabled": "dim",
    "warning": "yellow",
    "failed": "bold red",
    "problem": "bold red",
    "security": "bold red",
    "crash": "red",
    "silent": "bold magenta",
}


@dataclass(frozen=True)
class Row:
    """The most important outcome of a fix.

    Attributes:
        fix: id of the fix.
        kind: the kind of bug.
        verdict: the verdict of the outcomes in the row.
        state: the state of these outcomes.
        reason: one or two sentences.
        title: the effect of the bug, in one line.
        harmless: whether the functions were not examined, and none looks broken.
        restores: whether the fix serves only code that would fail without it.
    """

    fix: str
    kind: str
    verdict: Verdict
    state: State
    reason: str
    title: str = ""
    harmless: bool = False
    restores: bool = False

    def cells(self, reasons: bool = False) -> tuple[str, ...]:
        """The row as text, in the order of `COLUMNS`; or of `ALL_COLUMNS`, with the reason instead of the title."""
        return self.fix, self.kind, self.verdict.value, self.state.value, self.reason if reasons else self.what

    @property
    def what(self) -> str:
        """The title if the fix is applied, pending or observed; else the reason why it is not."""
        if self.state in (State.APPLIED, State.PENDING, State.OBSERVED):
            return self.title or self.reason
        if self.state is State.DISABLED and self.verdict is Verdict.BROKEN:
            return f"{self.reason} {self.title}".strip()
        return self.reason

    @property
    def idle(self) -> bool:
        """Whether the fix has nothing to do, and nothing to opt in to."""
        nothing = self.harmless or self.verdict in (Verdict.FIXED, Verdict.ABSENT)
        return self.state is not State.FAILED and nothing

    @property
    def word(self) -> str:
        """The word for the verdict when rows are counted."""
        return "not examined" if self.harmless else _WORDS.get(self.verdict, self.verdict.value)


def by_fix(outcomes: Iterable[Outcome], entries: Mapping[str, Entry]) -> list[Row]:
    """Summarize outcomes by fix: failures first, then repairs, then fixes with nothing to do."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.fix, []).append(outcome)
    ranked = sorted(groups.items(), key=lambda group: min(map(_rank, group[1])))
    return [_row(fix, group, entries) for fix, group in ranked]


def target_cells(outcome: Outcome) -> tuple[str, ...]:
    """One target as text, in the order of `TARGET_COLUMNS`."""
    state = outcome.state.value + " (late)" * outcome.late
    return outcome.fix, outcome.target, outcome.verdict.value, state, outcome.reason


def rich_report(headline: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> Any:
    """A report as a ``rich`` renderable; the notes come below its table."""
    from rich.console import Group
    from rich.text import Text

    table = rich_table(COLUMNS, [row.cells() for row in rows])
    return Group(Text(headline, style="bold"), table, *map(Text, notes))


def html_report(headline: str, rows: Sequence[Row], outcomes: Sequence[Outcome], notes: Sequence[str] = ()) -> str:
    """A report as a table for notebooks; the notes come below it, and its outcomes are folded, one per row."""
    return (
        f"<p><b>{escape(headline)}</b></p>"
        + _html_table(COLUMNS, [row.cells() for row in rows])
        + "".join(f"<p>{escape(note)}</p>" for note in notes)
        + f"<details><summary>{len(outcomes)} targets</summary>"
        + _html_table(TARGET_COLUMNS, [target_cells(outcome) for outcome in outcomes])
        + "</details>"
    )


def clean(text: str, kept: str = "\n\t") -> str:
    """The text without terminal control characters.

    Args:
        text: any text.
        kept: control characters to keep.
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() or character in kept else "\N{REPLACEMENT CHARACTER}" for character in text
    )


def plain_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as aligned columns; the last column is not padded or cut."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)


def has_room(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Whether cells fit side by side: all text fits, or the screen is wide and the last cell has room."""
    taken = _width_of_all_but_the_last(columns, rows)
    longest = max((len(row[-1]) for row in rows), default=0)
    return taken + longest <= width or (width >= WIDE and taken + _LEAST <= width)


def _width_of_all_but_the_last(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Includes the padding of `rich_table` between, before and after the columns."""
    widest = [max(map(len, cells)) for cells in list(zip(columns, *rows))[:-1]]
    return sum(widest) + 3 * len(columns) - 1


def fitted_table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, cut: bool = True) -> str:
    """Rows fitted to the screen: cells side by side if there is room, else two lines per row.

    Args:
        columns: the headings; not shown if rows are stacked.
        rows: the cells.
        width: the width of the screen in characters.
        cut: whether a stacked last cell is cut to one line instead of wrapped.
    """
    if has_room(columns, rows, width):
        return "\n".join(shortened(line, width) for line in plain_table([columns, *rows]).splitlines())
    lines = []
    for row in rows:
        lines += wrap(", ".join((f"{row[0]}: {row[1]}", *row[2:-1])) if len(row) > 2 else row[0], width) or [""]
        last = "  " + " ".join(row[-1].split())
        lines += [shortened(last, width)] if cut else wrap(last, width, subsequent_indent="  ")
    return "\n".join(lines)


def shortened(line: str, width: int) -> str:
    """The line, cut to the width if necessary."""
    return line if len(line) <= width else line[: width - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same in Markdown. The cells are Markdown already: see `escaped_markdown`."""
    lines = [" | ".join(columns), " | ".join("---" for _ in columns), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def escaped_markdown(text: str) -> str:
    """Text escaped so that Markdown shows it literally."""
    for character in "\\|`<>[]*_":
        text = text.replace(character, "\\" + character)
    return text


def rich_stack(rows: Iterable[Sequence[str]], width: int, cut: bool = False) -> Any:
    """Rows in two lines each, for a narrow screen; see `fitted_table`."""
    from rich.console import Group
    from rich.text import Text

    lines = []
    for row in rows:
        first = Text(row[0], style="bold" if len(row) > 2 else "")
        for number, cell in enumerate(row[1:-1]):
            first.append(", " if number else ": ")
            first.append(cell, style=STYLES.get(cell.partition(" ")[0], ""))
        last = "  " + " ".join(row[-1].split())
        folded = [shortened(last, width)] if cut else wrap(last, width, subsequent_indent="  ")
        lines += [first, *map(Text, folded)]
    return Group(*lines)


def rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]], cut_to: int = 0) -> Any:
    """The same as a table of ``rich``; if there is a width to cut to, the last cell is cut to what fits."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for number, column in enumerate(columns):
        last = number == len(columns) - 1
        table.add_column(column, overflow="fold", ratio=1 if last else None, no_wrap=number == 0 and len(columns) > 2)
    if cut_to:
        room = cut_to - _width_of_all_but_the_last(columns, rows)
        rows = [(*row[:-1], shortened(row[-1], room)) for row in rows]
    for row in rows:
        table.add_row(*(Text(cell, style=STYLES.get(cell.partition(" ")[0], "")) for cell in row))
    return table


def model_of(target: str) -> str:
    """A short name for the place of a target: the model, or else the module."""
    parts = target.partition(":")[0].split(".")
    return parts[2] if parts[:2] == ["transformers", "models"] and len(parts) > 2 else parts[-1]


# ---------------------------------------------------------------------------------------------------------------------
# Below: which outcome represents a fix, and its wording.


def _rank(outcome: Outcome) -> int:
    order = (
        outcome.state is State.FAILED,
        outcome.verdict is Verdict.FOREIGN,
        outcome.verdict is Verdict.UNKNOWN and not outcome.harmless,
        outcome.state is State.APPLIED,
        outcome.state is State.OBSERVED,
        outcome.state is State.PENDING,
        outcome.state is State.DISABLED and outcome.verdict is Verdict.BROKEN,
        outcome.verdict is Verdict.UNAFFECTED,
        outcome.verdict is Verdict.UNKNOWN,
        outcome.verdict is Verdict.FIXED,
        True,
    )
    return order.index(True)


def _row(fix: str, outcomes: list[Outcome], entries: Mapping[str, Entry]) -> Row:
    speaker = min(outcomes, key=_rank)
    same = [outcome for outcome in outcomes if (outcome.verdict, outcome.state) == (speaker.verdict, speaker.state)]
    rest = Counter(_word(outcome) for outcome in outcomes if outcome not in same)
    others = ", ".join(f"{count} {word}" for word, count in rest.items())
    reason = _reason(speaker, same, outcomes) + (f" Of its other functions: {others}." if others else "")
    entry = entries.get(fix)
    harmless = speaker.verdict is Verdict.UNKNOWN and speaker.harmless and speaker.state is State.SKIPPED
    kind, title = (entry.kind, entry.title) if entry else ("", "")
    late = sum(outcome.late for outcome in same)
    title += f" ({late} late)" if title and late and speaker.state is State.APPLIED else ""
    restores = speaker.state in (State.APPLIED, State.PENDING) and all(outcome.restores for outcome in same)
    return Row(fix, kind, speaker.verdict, speaker.state, reason, title, harmless, restores)


def _word(outcome: Outcome) -> str:
    done = outcome.state in (State.APPLIED, State.OBSERVED, State.PENDING, State.FAILED)
    if not done and outcome.verdict is Verdict.UNKNOWN and outcome.harmless:
        return "not examined"
    return outcome.state.value if done else _WORDS.get(outcome.verdict, outcome.verdict.value)


def _reason(speaker: Outcome, same: list[Outcome], outcomes: list[Outcome]) -> str:
    places = list(dict.fromkeys(model_of(outcome.target) for outcome in same))
    named = ", ".join(places[:_NAMED]) + (f" and {len(places) - _NAMED} more" if len(places) > _NAMED else "")
    if speaker.state is State.APPLIED:
        late = sum(outcome.late for outcome in same)
        return f"Repaired in {named}{f' ({late} late)' if late else ''}."
    if speaker.state is State.OBSERVED:
        return f"Not repaired, observed in {named}."
    if speaker.state is State.PENDING:
        return f"Repaired on import: {named}."
    if speaker.verdict is Verdict.FIXED and speaker.state is State.SKIPPED:
        return "The installed source is good."
    if len(same) == 1 or len({outcome.reason for outcome in same}) == 1:
        return speaker.reason
    if speaker.verdict is Verdict.ABSENT and speaker.state is State.SKIPPED:
        return f"None of its {len(outcomes)} targets is installed."
    return f"{speaker.reason} The same holds for {len(same) - 1} more."


def _html_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f"<th style='text-align:left'>{escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number_ranges(numbers: Iterable[int]) -> str:
    """``0-3, 6`` for 0, 1, 2, 3 and 6."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
