"""``hotfix explain``: the report of one bug, found by its id or by the error message that somebody saw."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ..engine.entry import Entry
    from .bugs import Bug

HELP = "the report of a bug: symptom, cause, releases, what hotfix does, and its proof"
EXAMPLES = (
    "hotfix explain flash-rotary-dtype",
    "hotfix explain --error 'Input and cos/sin must have the same dtype'",
    "python train.py 2>&1 | tail -40 | hotfix explain -",
)
_READ = 1024 * 1024  # characters; a traceback has a thousandth of that


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", nargs="?", help="id of the bug, or - to read a traceback from stdin")
    parser.add_argument("--error", metavar="TEXT", help="find the bug by the message that you saw")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; 1 where an error message matches no known bug."""
    from . import CommandError, bugs, messages, screen

    if (chosen.id is None) == (chosen.error is None):
        raise CommandError("explain takes the id of a bug, or - and a traceback on stdin, or --error TEXT")
    if chosen.id is not None and chosen.id != "-":
        bug = bugs.named(chosen.id)
        if chosen.json:
            screen.print_json(_facts(bug))
        else:
            _print(screen.Screen(), bug)
        return 0
    text = chosen.error if chosen.error is not None else sys.stdin.read(_READ)
    if not text.strip():
        raise CommandError("there is no error message to look for")
    found = messages.search(text)
    if chosen.json:
        screen.print_json([{**_facts(match.bug), "match": round(match.score, 2)} for match in found])
        return int(not found)
    out = screen.Screen()
    if not found:
        out.line("No known bug has this message.")
        return 1
    _print(out, found[0].bug)
    if len(found) > 1:
        out.line()
        out.line("Less likely, by the words of the message alone:")
        out.table(("bug", "kind", "hotfix", "here"), [_row(match.bug) for match in found[1:]])
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Below: one bug.


def _facts(bug: Bug) -> dict[str, Any]:
    from .. import proofs
    from . import bugs

    entry = _entry(bug)
    report = bugs.report_of(entry) if entry else {}
    facts: dict[str, Any] = {**bug.to_dict(), "error": bug.error, "report": report, "here": _here(bug)}
    if entry:
        facts["proof"] = bool(proofs.load(entry.module, entry.load()))
        facts["evidence"] = _evidence(entry)
    return facts


def _print(out: Any, bug: Bug) -> None:
    from .. import proofs
    from . import bugs

    entry = _entry(bug)
    report = bugs.report_of(entry) if entry else {}
    out.line(f"{bug.id}: {bug.title}", "bold")
    out.line()
    rows = [("Kind", bug.kind)]
    rows += [(section, report[section]) for section in bugs.SECTIONS if section in report]
    if not entry:
        rows += [("Symptom", bug.error)] if bug.error else []
        rows += [("Where", bug.where[0])] if bug.where else []
        rows += [("Releases", f"transformers {', or '.join(map(str, bug.broken))}")]
        rows += [("Upstream", ", ".join(bug.refs))] if bug.refs else []
    if bug.needs:
        rows.append(("Needs", ", ".join(f"{name}{specifier}" for name, specifier in bug.needs.items())))
    if bug.fixed_in:
        rows.append(("Fixed in", ", ".join(map(str, bug.fixed_in))))
    if entry:
        known = _evidence(entry)
        proof = (
            "a case runs it: hotfix verify " + bug.id
            if proofs.load(entry.module, entry.load())
            else "none on this node"
        )
        rows.append(("Evidence", f"{known['broken']} broken and {known['fixed']} good sources of {known['targets']}"))
        rows.append(("Proof", proof))
    if bug.why_not:
        rows.append(("Not repaired", bug.why_not))
    rows.append(("This node", _here(bug)))
    rows.append(("What to do", _advice(bug)))
    out.facts(rows)


def _row(bug: Bug) -> tuple[str, str, str, str]:
    return bug.id, bug.kind, bug.cure(), _here(bug)


def _entry(bug: Bug) -> Optional[Entry]:
    from .. import session

    return session.current().catalogue.entries.get(bug.id)


def _here(bug: Bug) -> str:
    """What of it is in this environment, in a sentence."""
    from ..engine.policy import Policy
    from ..reports.report import of_environment
    from ..versions import installed
    from . import bugs

    if bug.repaired:
        # A switch that cannot be read is the business of `status` and `doctor`.
        rows = of_environment(Policy(optin=("*",))).rows(bug.id)
        return f"{rows[0].verdict.value}: {rows[0].reason}" if rows else "unknown"
    release = installed.version(bugs.PACKAGE)
    if release is None:
        return f"{bugs.PACKAGE} is not installed."
    return f"{bugs.PACKAGE} {release} {'has it' if bug.is_in(release) else 'does not have it'}."


def _advice(bug: Bug) -> str:
    if bug.repaired:
        armed = "Begin the program with `import hotfix.auto`, or start it with `hotfix run -- ...`"
        return f"{armed}, with HOTFIX_OPTIN={bug.id}." if bug.optin else f"{armed}."
    if bug.fixed_in:
        return f"hotfix does not repair it; transformers {bug.fixed_in[0]} does."
    return "hotfix does not repair it, and no release is known to."


def _evidence(entry: Entry) -> dict[str, int]:
    from ..versions import verdict
    from ..versions.verdict import Verdict

    known = verdict.evidence(verdict.evidence_file(entry.load()))
    verdicts = [verdict for digests in known.values() for verdict in digests.values()]
    return {
        "targets": len(known),
        "broken": verdicts.count(Verdict.BROKEN),
        "fixed": verdicts.count(Verdict.FIXED),
    }
