"""docs/deviations.md: the table fix x deviation, from the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hotfix.fix import Fix
from tools import matrix
from tools.deviations import judge, table
from tools.deviations.library import DEVIATIONS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deviations.md"
SIGNS = {
    judge.SAME: "=",
    judge.REPAIRED: "r",
    judge.LEFT_ALONE: "s",
    judge.PARTLY: "p",
    judge.UNCLEAR: "?",
    judge.HARM: "**X**",
    judge.ABSENT: "·",
}
_COPIES = ("first-copied-from-source", "last-copied-from-source")
_ALONE = "the fix repairs one function here"
_WORST = (judge.HARM, judge.UNCLEAR, judge.PARTLY, judge.REPAIRED, judge.LEFT_ALONE, judge.SAME, judge.ABSENT)


def write(book: table.Book, fixes: Sequence[Fix], every: Sequence[matrix.Cell]) -> None:
    """Write the page."""
    PAGE.write_text(rendered(book, fixes, every), encoding="utf-8")


def rendered(book: table.Book, fixes: Sequence[Fix], every: Sequence[matrix.Cell]) -> str:
    """The page, as Markdown."""
    tried = [fix for fix in fixes if book.entries(fix.id)]
    results = {fix.id: book.entries(fix.id) for fix in tried}
    total: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    used: set[str] = set()
    for releases in results.values():
        for programs in releases.values():
            for name, entry in programs.items():
                used.add(name.partition(" @ ")[0])
                total[entry["result"]] += 1
                if entry["result"] == judge.ABSENT:
                    reasons[entry["detail"].partition(":")[0]] += 1
    lines = [_HEAD.format(fixes=len(tried), all=len(fixes), deviations=len(used), entries=sum(total.values())), ""]
    lines += ["| result | sign | programs |", "| --- | :---: | ---: |"]
    lines += [f"| {result} | {SIGNS[result]} | {total[result]} |" for result in judge.RESULTS]
    lines += ["", "## The deviations", "", "| number | name | what the program does |", "| ---: | --- | --- |"]
    numbers = {
        name: number for number, name in enumerate((deviation for deviation in DEVIATIONS if deviation in used), 1)
    }
    lines += [f"| {number} | `{name}` | {DEVIATIONS[name].text} |" for name, number in numbers.items()]
    for folder in sorted({_folder(fix, every) for fix in tried}):
        own = [fix for fix in tried if _folder(fix, every) == folder]
        columns = [name for name in numbers if any(_cell(results[fix.id], name) for fix in own)]
        lines += [
            "",
            f"## Fixes in {folder}",
            "",
            f"| fix | releases | {' | '.join(str(numbers[name]) for name in columns)} |",
        ]
        lines.append("| --- | --- |" + " :---: |" * len(columns))
        for fix in own:
            signs = [_cell(results[fix.id], name) for name in columns]
            lines.append(f"| `{fix.id}` | {', '.join(results[fix.id])} | {' | '.join(signs)} |")
    lines += ["", *_several_places(results)]
    lines += ["", "## Differences", ""]
    for fix in tried:
        for release, programs in results[fix.id].items():
            for name, entry in programs.items():
                if entry["result"] in (judge.HARM, judge.UNCLEAR):
                    lines.append(f"- `{fix.id}`, {release}, `{name}`: {entry['result']}: {_as_text(entry['detail'])}")
    if lines[-1] == "":
        lines.append("None.")
    lines += ["", "## Why a deviation does not apply", "", "| reason | programs |", "| --- | ---: |"]
    lines += [f"| {reason.replace('|', chr(92) + '|')} | {count} |" for reason, count in reasons.most_common()]
    return "\n".join(lines) + "\n"


def _several_places(results: Mapping[str, dict[str, Any]]) -> Iterator[str]:
    """The fixes that repair several functions, and their results where one of them is not the release's own."""
    yield from (
        "## Repairs in several places",
        "",
        "These fixes repair several functions of a release. In these programs the first or the last of them is a",
        "copy, as of a tool that executes the release's source again, so that hotfix cannot repair it. *Left alone*",
        "and *as stock*: the other places give what the release gives, too. *Repaired*: they are right without it.",
        "",
        "| fix | releases | the first is a copy | the last is a copy |",
        "| --- | --- | --- | --- |",
    )
    for fix, releases in results.items():
        first, last = (_of_copies(releases, name) for name in _COPIES)
        if first or last:
            yield f"| `{fix}` | {', '.join(releases)} | {first} | {last} |"


def _of_copies(releases: dict[str, Any], deviation: str) -> str:
    """The results of a deviation in all releases, without those that have one place only."""
    entries = (programs.get(deviation, {"result": judge.ABSENT, "detail": _ALONE}) for programs in releases.values())
    several = [entry for entry in entries if entry.get("detail") != _ALONE]
    return ", ".join(dict.fromkeys(f"{entry['result']}{_reason(entry)}" for entry in several))


def _reason(entry: dict[str, Any]) -> str:
    return f" ({_as_text(entry['detail'])})" if entry["result"] in (judge.ABSENT, judge.UNCLEAR) else ""


def _as_text(detail: str) -> str:
    return detail.replace("|", "\\|").replace("<", "\\<").replace("\n", " ")


def _cell(releases: dict[str, Any], deviation: str) -> str:
    """The sign of a deviation's worst result for a fix, empty if it was not run."""
    worst = {
        entry["result"]
        for programs in releases.values()
        for name, entry in programs.items()
        if name.partition(" @ ")[0] == deviation
    }
    return next((SIGNS[result] for result in _WORST if result in worst), "")


def _folder(fix: Fix, every: Sequence[matrix.Cell]) -> str:
    return next((table.folder_of(cell.module) for cell in every if cell.fix is fix), "models")


_HEAD = """\
# Programs that differ from the library's own code

`python -m tools.deviations --page` writes this page from `docs/data/deviations/`.

Each fix has a case that its bug breaks. A program is such a case with one deviation from the library's own code. It
runs in stock on a broken release, in stock on the release that serves as reference, and armed with this one fix. Where
stock gives what the reference gives, the armed process must give the same bits, the same error, the same lines on
stderr, and leave the same state. Otherwise it must give what the reference gives (*repaired*) or what stock gives
(*left alone*). Everything else is a *harm*. *Unclear* is a program that stock cannot run and that the armed process
runs otherwise than the reference.

{fixes} of {all} fixes that are on by default, {deviations} deviations, {entries} programs, on the first and the last
broken release of each fix."""
