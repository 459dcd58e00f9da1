"""How the result of a scan is printed. One function for each value of ``--format``."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Optional

from ... import __version__
from ...reports.tables import clean, counted, escaped_markdown, fitted_table, has_room, markdown_table
from .. import bugs, screen
from .affected import PinnedBug, Scan, Step, to_dict

if TYPE_CHECKING:
    from packaging.version import Version

COLUMNS = ("bug", "kind", "hotfix", "fixed in", "what")
_LINES = 40  # of all files together, unless `--all` is given
_SHOWN = 20  # rows of one file
_FEWEST = 4  # lines of one file, besides its verdict and advice


def print_table(scans: Sequence[Scan], whole: bool = False) -> None:
    """Print the verdict and the advice for each file, then its worst bugs, in 40 lines.

    Args:
        scans: the results.
        whole: whether every bug is listed. Otherwise names and signatures that were removed are counted, not listed:
            most programs use few of them, and `hotfix scan-code` finds which.
    """
    out = screen.Screen()
    most_steps = None if whole or len(scans) == 1 else 1
    heights = [
        sum(_height(out, text) for text in (heading(scan), *conclusions(scan, most_steps))) + _FEWEST for scan in scans
    ]
    full, named = (
        (len(scans), len(scans)) if whole else _shares(heights, [_height(out, heading(scan)) for scan in scans])
    )
    room = _LINES - 1 - sum(heights[:full]) - sum(_height(out, heading(scan)) for scan in scans[full:named])
    for number, scan in enumerate(scans[:named]):
        if 0 < number < full:
            out.line()
        out.line(heading(scan), "bold")
        if number >= full:
            continue
        for sentence in conclusions(scan, most_steps):
            out.line(sentence)
        listed = scan.findings if whole else [finding for finding in scan.findings if finding.bug.kind != "removed-api"]
        rows = [_cells(scan, finding) for finding in listed]
        most = len(rows)
        if not whole:
            share = min(_SHOWN, room // full)
            most = (
                share if out.width is None or has_room(COLUMNS, rows, out.width) else _fitting(rows, out.width, share)
            )
        if rows[: max(most, 0)]:
            out.line()
            out.table(COLUMNS, rows[:most], cut=True, stacked=[_stacked(row) for row in rows[:most]])
        _print_rest(out, scan, listed[max(most, 0) :], whole)
    if named < len(scans):
        out.line(f"And {counted(len(scans) - named, 'more file')}; --all lists them.")


def _shares(heights: Sequence[int], headings: Sequence[int]) -> tuple[int, int]:
    """The number of files that one screen reports in full, and the number that it names at all.

    Args:
        heights: the lines that each takes in full.
        headings: the lines that each takes by its name alone.
    """
    room = _LINES - 2 - heights[0]  # the first is always reported in full
    named = 1 + sum(height <= room for height in accumulate(headings[1:]))
    full = 1
    while full < named == len(heights):
        room -= heights[full]
        if sum(headings[full + 1 :]) > room:
            break
        full += 1
    return full, named


def _print_rest(out: screen.Screen, scan: Scan, rest: Sequence[PinnedBug], whole: bool) -> None:
    """Print how many bugs are not listed, in one line."""
    parts = []
    if rest:
        kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(finding.bug.kind for finding in rest).items())
        parts.append(f"{len(rest)} more ({kinds})")
    names = 0 if whole else sum(finding.bug.kind == "removed-api" for finding in scan.findings)
    if names:
        parts.append(f"{counted(names, 'removed name')} (`hotfix scan-code .` finds those that your code uses)")
    if parts:
        out.line(f"Not listed: {'; '.join(parts)}. --all lists them.")


def _height(out: screen.Screen, text: str) -> int:
    """The number of lines that a paragraph takes."""
    return 1 if out.width is None else max(1, len(textwrap.wrap(text, out.width, break_on_hyphens=False)))


def _fitting(rows: Sequence[tuple[str, ...]], width: int, share: int) -> int:
    """The number of rows that fit into so many lines if each takes two, or three."""
    heights = (fitted_table(COLUMNS, [_stacked(row)], width).count("\n") + 1 for row in rows)
    return sum(height < share for height in accumulate(heights))


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
            rows = [[escaped_markdown(cell) for cell in _cells(scan, finding)] for finding in scan.findings]
            lines += [markdown_table(COLUMNS, rows), ""]
        lines += [f"- {escaped_markdown(sentence)}" for sentence in conclusions(scan)] + [""]
    print(clean("\n".join(lines).rstrip()))


def print_sarif(scans: Sequence[Scan]) -> None:
    """Print SARIF 2.1.0, which code hosts show next to the pinned line."""
    rules = {finding.bug.id: finding.bug for scan in scans for finding in scan.findings}
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
                    "results": [_result(scan, finding) for scan in scans for finding in scan.findings],
                }
            ],
        }
    )


def heading(scan: Scan) -> str:
    """The result in one line."""
    if not scan.asked:
        return f"{scan.source}: nothing to judge"
    where = scan.where or scan.source
    place = "" if _parts(where) == _parts(scan.asked) else f"{where}: "  # nothing before a requirement itself
    if not scan.examined:
        return f"{place}{scan.asked}: not judged"
    repaired = sum(finding.bug.repaired for finding in scan.findings)
    count = f"{counted(len(scan.findings), 'known bug')}, {repaired} of them repaired by hotfix"
    breadth = "" if scan.pinned or not scan.allowed else f" (any of {counted(scan.allowed, 'release')})"
    return f"{place}{scan.asked}{breadth}: {count if scan.findings else 'no known bug'}"


def _parts(requirement: str) -> set[str]:
    return set(re.split(r"[\s,]+", requirement.removeprefix(bugs.PACKAGE).strip()))


def conclusions(scan: Scan, most_steps: Optional[int] = None) -> list[str]:
    """The advice for a scan, and the parts that could not be judged.

    Args:
        scan: of one file.
        most_steps: how many upgrades are named, the farthest first; all if None.
    """
    sentences = []
    repaired = sum(finding.bug.repaired and not finding.bug.optin for finding in scan.findings)
    opt_in = sum(finding.bug.repaired for finding in scan.findings) - repaired
    if repaired + opt_in and not scan.with_hotfix:
        more = f", and {opt_in} more if HOTFIX_OPTIN asks for them" if opt_in else ""
        sentences.append(f"Add transformers-hotfix to these pins: it repairs {repaired} without an upgrade{more}.")
    sentences += [advice(scan, step) for step in scan.steps[-(most_steps or len(scan.steps)) :]]
    if scan.ignored:
        sentences.append(f"Ignored by this project: {'; '.join(f'{id} ({why})' for id, why in scan.ignored.items())}.")
    never = sum(finding.bug.is_in(bugs.examined()[-1]) and not finding.bug.repaired for finding in scan.findings)
    if never:
        are = "is" if never == 1 else "are"
        sentences.append(f"{counted(never, 'known bug')} {are} fixed neither by hotfix nor by any release so far.")
    if scan.examined:
        sentences.append(f"Not checked: {bugs.left_out()} known bugs for which hotfix has no version range.")
    return sentences + [f"Note: {note}." for note in scan.notes]


def advice(scan: Scan, step: Step) -> str:
    """Whether an upgrade is worth it: the bugs that it fixes, those that it brings, and those that are left."""
    target = f"transformers{'==' if scan.pinned else '>='}{step.release}"
    here = scan.unrepaired()
    bugs_left = counted(here, "bug")
    fixes = f"{target} fixes {step.ended} of the {bugs_left} that hotfix does not repair"
    if step.ends != "all":
        worst = {"crashes": "all crashes", "silent bugs": "all crashes and silent bugs"}[step.ends]
        fixes += f" (including {worst})"
    if not step.new_left:
        return f"{fixes}, and has no others. Upgrade if you can."
    after = here - step.ended + step.new_left
    brings = f"{fixes}, but has {step.new_left} other{'s' * (step.new_left > 1)}"
    if after < here:
        return f"{brings}. Upgrade if one of the {step.ended} affects you."
    return f"{brings}. Stay on this release, and use hotfix."


# ---------------------------------------------------------------------------------------------------------------------
# Below: cells, rules and results.


def _cells(scan: Scan, finding: PinnedBug) -> tuple[str, ...]:
    fixed = ", ".join(map(str, finding.bug.fixed_in)) or "-"
    extent = _extent(scan, finding)
    return (
        finding.bug.id,
        finding.bug.kind,
        finding.bug.cure(),
        fixed,
        finding.bug.title + ("" if extent == "yes" else f" ({extent})"),
    )


def _stacked(cells: tuple[str, ...]) -> tuple[str, ...]:
    """The same for a table without headings."""
    id, kind, cure, fixed, what = cells
    cure = {"-": "not repaired", "repaired": "repaired by hotfix"}.get(cure, cure)
    return id, kind, cure, f"fixed in {'no release' if fixed == '-' else fixed}", what


def _extent(scan: Scan, finding: PinnedBug) -> str:
    words = []
    if not scan.pinned:
        some = f"{len(finding.releases)} of {scan.allowed}: {_span(finding.releases)}"
        words.append("every release" if len(finding.releases) == scan.allowed else some)
    if finding.condition:
        words.append(f"if {finding.condition} is there")
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
        "fullDescription": {"text": f"{bug.title}. The error: {bug.error}" if bug.error else f"{bug.title}."},
        **({"helpUri": _thread(bug)} if _thread(bug) else {}),
        "help": {"text": f"Kind: {bug.kind}. Fixed in: {fixed}; {cure}. {' '.join(bug.refs)}".strip()},
        "properties": {"tags": [bug.kind]},
    }


def _suppression(scan: Scan, finding: PinnedBug) -> dict[str, str]:
    return {"kind": "external", "justification": scan.ignored[finding.bug.id]}


def _thread(bug: bugs.Bug) -> str:
    """The address of the thread in which the bug was found; empty if none is known."""
    for ref in bug.refs:
        match = re.fullmatch(r"(?:([\w.-]+)/)?([\w.-]*)#(\d+)", ref.split(" ")[0])
        if match:
            return f"https://github.com/{match[1] or 'huggingface'}/{match[2] or 'transformers'}/issues/{match[3]}"
    return ""


def _fingerprint(id: str, file: str) -> str:
    """The key of an alert: the same for one bug in one file, on every line and for every pin."""
    return hashlib.sha256(f"{id}\n{file}".encode()).hexdigest()[:32]


def _result(scan: Scan, finding: PinnedBug) -> dict[str, Any]:
    file, _, line = scan.where.rpartition(":")
    known = line.isdigit()
    place: dict[str, Any] = {"artifactLocation": {"uri": (file if known else scan.source).replace("\\", "/")}}
    if known:
        place["region"] = {"startLine": int(line)}
    worst = finding.bug.kind in ("security", "crash", "silent")
    level = "note" if finding.condition else ("error" if worst else "warning")
    extent = _extent(scan, finding)
    return {
        "ruleId": finding.bug.id,
        "level": level,
        "message": {"text": f"{scan.asked}: {finding.bug.title}" + ("" if extent == "yes" else f" ({extent})")},
        "locations": [{"physicalLocation": place}],
        **({"suppressions": [_suppression(scan, finding)]} if finding.bug.id in scan.ignored else {}),
        "partialFingerprints": {"bugInPins/v1": _fingerprint(finding.bug.id, place["artifactLocation"]["uri"])},
    }
