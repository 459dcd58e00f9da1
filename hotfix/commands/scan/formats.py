"""How the result of a scan is printed. One function for each value of ``--format``."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ... import __version__
from ...reports.tables import clean, escaped_markdown, fitted_table, has_room, markdown_table
from .. import bugs, screen
from .affected import PinnedBug, Scan, to_dict

if TYPE_CHECKING:
    from packaging.version import Version

COLUMNS = ("bug", "kind", "hotfix", "fixed in", "what")
_SHOWN = 20  # lines of a table on a screen; in a pipe there are all


def print_table(scans: Sequence[Scan], whole: bool = False) -> None:
    """Print a table for each file; on a screen the worst of it, unless the whole is asked for."""
    out = screen.Screen()
    for number, scan in enumerate(scans):
        if number:
            out.line()
        out.line(heading(scan), "bold")
        if scan.findings:
            rows = [_cells(scan, one) for one in scan.findings]
            most = len(rows)
            if out.width is not None and not whole:
                most = _SHOWN if has_room(COLUMNS, rows, out.width) else _fitting(rows, out.width)
            rest = scan.findings[most:]
            out.table(COLUMNS, rows[:most], cut=True, stacked=[_stacked(row) for row in rows[:most]])
            if rest:
                kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(one.bug.kind for one in rest).items())
                out.line(f"And {len(rest)} more ({kinds}); --all lists them.")
        for sentence in conclusions(scan):
            out.line(sentence)


def _fitting(rows: Sequence[tuple[str, ...]], width: int) -> int:
    """How many rows a screen has room for where each takes two lines, or three."""
    heights = (fitted_table(COLUMNS, [_stacked(row)], width).count("\n") + 1 for row in rows)
    return max(1, sum(height < _SHOWN - 1 for height in accumulate(heights)))


def print_json(scans: Sequence[Scan]) -> None:
    """Print JSON."""
    screen.print_json(
        {"hotfix": __version__, "unranged_bugs": bugs.left_out(), "scans": [to_dict(scan) for scan in scans]}
    )


def print_markdown(scans: Sequence[Scan]) -> None:
    """Print a table in Markdown for each file, for a pull request or a job summary."""
    lines = []
    for scan in scans:
        lines += [f"### {escaped_markdown(heading(scan))}", ""]
        if scan.findings:
            rows = [[escaped_markdown(cell) for cell in _cells(scan, one)] for one in scan.findings]
            lines += [markdown_table(COLUMNS, rows), ""]
        lines += [f"- {escaped_markdown(sentence)}" for sentence in conclusions(scan)] + [""]
    print(clean("\n".join(lines).rstrip()))


def print_sarif(scans: Sequence[Scan]) -> None:
    """Print SARIF 2.1.0, which code hosts show beside the pinned line."""
    rules = {one.bug.id: one.bug for scan in scans for one in scan.findings}
    screen.print_json(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "hotfix",
                            "version": __version__,
                            "rules": [_rule(bug) for bug in rules.values()],
                        }
                    },
                    "results": [_result(scan, one) for scan in scans for one in scan.findings],
                }
            ],
        }
    )


def heading(scan: Scan) -> str:
    """What was judged, in one line."""
    if not scan.asked:
        return f"{scan.source}: nothing to judge"
    if not scan.examined:
        return f"{scan.where}: {scan.asked}: not judged"
    repaired = sum(one.bug.repaired for one in scan.findings)
    count = f"{len(scan.findings)} known bugs, {repaired} of them repaired by hotfix"
    breadth = "" if scan.pinned or not scan.allowed else f" (any of {scan.allowed} releases)"
    return f"{scan.where or scan.source}: {scan.asked}{breadth}: {count if scan.findings else 'no known bug'}"


def conclusions(scan: Scan) -> list[str]:
    """What to do, and what could not be judged."""
    sentences = []
    if any(one.bug.repaired for one in scan.findings) and not scan.with_hotfix:
        sentences.append("To repair them without an upgrade: add transformers-hotfix to these pins.")
    for step in scan.steps:
        wanted = f"transformers{'==' if scan.pinned else '>='}{step.release}"
        end = {"crashes": "the crashes", "silent bugs": "what is silently wrong", "all": "all that a release ends"}
        new = f"; {step.new} known bugs are new in it" if step.new else ""
        sentences.append(f"To end {end[step.ends]} of the rest: {wanted} (it ends {step.ended}{new}).")
    if scan.ignored:
        sentences.append(f"Ignored by this project: {'; '.join(f'{id} ({why})' for id, why in scan.ignored.items())}.")
    never = sum(one.bug.is_in(bugs.examined()[-1]) and not one.bug.repaired for one in scan.findings)
    if never:
        sentences.append(f"Not ended by any release so far: {never} of them.")
    if scan.examined:
        sentences.append(f"Not looked for: {bugs.left_out()} known bugs whose releases are not known as a range.")
    return sentences + [f"Note: {note}." for note in scan.notes]


# ---------------------------------------------------------------------------------------------------------------------
# Below: cells, rules and results.


def _cells(scan: Scan, one: PinnedBug) -> tuple[str, ...]:
    fixed = ", ".join(map(str, one.bug.fixed_in)) or "-"
    extent = _extent(scan, one)
    return one.bug.id, one.bug.kind, one.bug.cure(), fixed, one.bug.title + ("" if extent == "yes" else f" ({extent})")


def _stacked(cells: tuple[str, ...]) -> tuple[str, ...]:
    """The same where no headings stand above."""
    id, kind, cure, fixed, what = cells
    cure = {"-": "not repaired", "repaired": "repaired by hotfix"}.get(cure, cure)
    return id, kind, cure, f"fixed in {'no release' if fixed == '-' else fixed}", what


def _extent(scan: Scan, one: PinnedBug) -> str:
    words = []
    if not scan.pinned:
        some = f"{len(one.releases)} of {scan.allowed}: {_span(one.releases)}"
        words.append("every release" if len(one.releases) == scan.allowed else some)
    if one.condition:
        words.append(f"if {one.condition} is there")
    return ", ".join(words) or "yes"


def _span(releases: Sequence[Version]) -> str:
    """Releases as runs of neighbours: 4.46.1 - 4.47.1, 4.49.0."""
    order = {release: number for number, release in enumerate(bugs.examined())}
    runs: list[list[Version]] = []
    for release in releases:
        follows = runs and order.get(release, -1) == order.get(runs[-1][-1], -3) + 1
        if follows:
            runs[-1].append(release)
        else:
            runs.append([release])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} - {run[-1]}" for run in runs)


def _rule(bug: bugs.Bug) -> dict[str, Any]:
    fixed = ", ".join(map(str, bug.fixed_in)) or "no release"
    cure = "hotfix repairs it" if bug.repaired else "hotfix does not repair it"
    return {
        "id": bug.id,
        "shortDescription": {"text": bug.title},
        "fullDescription": {"text": f"{bug.title}. What is seen: {bug.error}" if bug.error else f"{bug.title}."},
        **({"helpUri": _thread(bug)} if _thread(bug) else {}),
        "help": {"text": f"Kind: {bug.kind}. Fixed in: {fixed}; {cure}. {' '.join(bug.refs)}".strip()},
        "properties": {"tags": [bug.kind]},
    }


def _suppression(scan: Scan, one: PinnedBug) -> dict[str, str]:
    return {"kind": "external", "justification": scan.ignored[one.bug.id]}


def _thread(bug: bugs.Bug) -> str:
    """The address of the thread in which the bug was found; empty where none is known."""
    for ref in bug.refs:
        said = re.fullmatch(r"(?:([\w.-]+)/)?([\w.-]*)#(\d+)", ref.split(" ")[0])
        if said:
            return f"https://github.com/{said[1] or 'huggingface'}/{said[2] or 'transformers'}/issues/{said[3]}"
    return ""


def _fingerprint(id: str, file: str) -> str:
    """Which alerts are the same: those of one bug in one file, on whatever line and for whatever pin."""
    return hashlib.sha256(f"{id}\n{file}".encode()).hexdigest()[:32]


def _result(scan: Scan, one: PinnedBug) -> dict[str, Any]:
    file, _, line = scan.where.rpartition(":")
    known = line.isdigit()
    place: dict[str, Any] = {"artifactLocation": {"uri": (file if known else scan.source).replace("\\", "/")}}
    if known:
        place["region"] = {"startLine": int(line)}
    worst = one.bug.kind in ("security", "crash", "silent")
    level = "note" if one.condition else ("error" if worst else "warning")
    extent = _extent(scan, one)
    return {
        "ruleId": one.bug.id,
        "level": level,
        "message": {"text": f"{scan.asked}: {one.bug.title}" + ("" if extent == "yes" else f" ({extent})")},
        "locations": [{"physicalLocation": place}],
        **({"suppressions": [_suppression(scan, one)]} if one.bug.id in scan.ignored else {}),
        "partialFingerprints": {"bugInPins/v1": _fingerprint(one.bug.id, place["artifactLocation"]["uri"])},
    }
