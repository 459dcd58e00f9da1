"""How the result of ``hotfix scan-code`` is printed. One function for each value of ``--format``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import __version__
from ...reports.tables import counted
from .. import screen
from . import missing
from .missing import MissingName, Scan, Use

COLUMNS = ("name", "gone", "hotfix", "needed", "first taken at")
_SHOWN = 2


def print_table(scans: Sequence[Scan]) -> None:
    """Print a table for each path."""
    out = screen.Screen()
    for number, scan in enumerate(scans):
        if number:
            out.line()
        out.line(heading(scan), "bold")
        if scan.findings:
            out.table(COLUMNS, [_cells(finding) for finding in scan.findings])
        for sentence in conclusions(scan):
            out.line(sentence)


def print_json(scans: Sequence[Scan]) -> None:
    """Print JSON."""
    screen.print_json({"hotfix": __version__, "scans": [missing.to_dict(scan) for scan in scans]})


def print_sarif(scans: Sequence[Scan]) -> None:
    """Print SARIF 2.1.0, which code hosts show next to the line."""
    rules = {finding.name: finding for scan in scans for finding in scan.findings}
    driver = {"name": "hotfix", "version": __version__, "rules": [_rule(finding) for finding in rules.values()]}
    results = [_result(finding, use) for scan in scans for finding in scan.findings for use in finding.uses]
    screen.print_json(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "results": results}],
        }
    )


def heading(scan: Scan) -> str:
    """The result in one line."""
    if not scan.taken:
        return f"{scan.source}: {counted(scan.files, 'file')}, and none takes a name from transformers"
    needed = sum(finding.is_needed for finding in scan.findings)
    where = f"{scan.taking} of {counted(scan.files, 'file')}"
    read = f"{scan.source}: {counted(scan.taken, 'name')} from transformers in {where}"
    return (
        f"{read}; {needed} needed {'name is' if needed == 1 else 'names are'} not in every release"
        if scan.findings
        else f"{read}; every release has all of them"
    )


def conclusions(scan: Scan) -> list[str]:
    """The releases on which the code runs, the fixes that help, and the parts that could not be judged."""
    everywhere = len(missing.releases())
    sentences = []
    if scan.taking:
        sentences.append(_extent("Judging by its names, this code runs without hotfix on", scan.runs_on, everywhere))
        if scan.imports_on != scan.runs_on:
            sentences.append(_extent("It can be imported on", scan.imports_on, everywhere))
    asked = sorted(
        {finding.fix.id for finding in scan.findings if finding.fix and finding.fix.optin and finding.is_needed}
    )
    if scan.repaired_on != scan.runs_on:
        switches = f" and HOTFIX_OPTIN={','.join(asked)}" if asked else ""
        sentences.append(_extent(f"With hotfix{switches}, on", scan.repaired_on, everywhere))
    if scan.asked and scan.release is None:
        sentences.append(f"Note: the installed transformers {scan.asked} is not one of the examined releases.")
    elif scan.asked and scan.taking:
        lacking = scan.lacking()
        left = sum(finding.fix is None for finding in lacking)
        words = f"lacks {counted(len(lacking), 'needed name')}; no fix restores {left} of them"
        sentences.append(f"transformers {scan.asked} {words if lacking else 'lacks none of them'}.")
    return sentences + [f"Note: {note}." for note in scan.notes]


# ---------------------------------------------------------------------------------------------------------------------
# Below: cells, rules and results.


def _extent(words: str, numbers: frozenset[int], everywhere: int) -> str:
    if not numbers:
        return f"{words} none of the examined releases."
    if len(numbers) == everywhere:
        return f"{words} all examined releases ({missing.text_of(numbers)})."
    newest = missing.releases()[max(numbers)]
    return f"{words} transformers {missing.text_of(numbers)}; the newest is {newest}."


def _cure(finding: MissingName) -> str:
    if finding.fix is None:
        return f"- (known: {finding.bug.id})" if finding.bug else "-"
    return f"{finding.fix.id}{' (opt-in)' if finding.fix.optin else ''}"


def _cells(finding: MissingName) -> tuple[str, ...]:
    needed = "at import" if finding.is_needed_at_import else "when called" if finding.is_needed else "no: guarded"
    places = list(dict.fromkeys(use.place for use in finding.uses))
    more = f" and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
    return finding.name, missing.gone_in(finding), _cure(finding), needed, ", ".join(places[:_SHOWN]) + more


def _rule(finding: MissingName) -> dict[str, Any]:
    cure = f"hotfix gives it back: {_cure(finding)}" if finding.fix else "hotfix does not give it back"
    gone = f"Gone {missing.gone_in(finding)}; {cure}."
    return {
        "id": finding.name,
        "shortDescription": {"text": f"{finding.name} is not in every release of transformers"},
        "fullDescription": {"text": f"{finding.name} is not in every release of transformers. {gone}"},
        "help": {"text": gone},
        "properties": {"tags": ["removed-api"]},
    }


def _result(finding: MissingName, use: Use) -> dict[str, Any]:
    guarded = use.taken.guarded or bool(use.taken.instead_of)
    place = {"artifactLocation": {"uri": use.file.replace("\\", "/")}, "region": {"startLine": use.taken.line}}
    return {
        "ruleId": finding.name,
        "level": "note" if guarded else "warning" if finding.fix else "error",
        "message": {"text": f"{finding.name} is gone {missing.gone_in(finding)} ({_cure(finding)})"},
        "locations": [{"physicalLocation": place}],
    }
