"""``hotfix explain``: the report of one bug, found by its id or by the error message that somebody saw."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from packaging.version import Version

    from ...engine.entry import Entry
    from ..bugs import Bug
    from .messages import Match
    from .name_history import Age

HELP = "the report of a bug: symptom, cause, releases, what hotfix does, and its proof"
EXAMPLES = (
    "hotfix explain flash-rotary-dtype",
    "hotfix explain --error 'Input and cos/sin must have the same dtype'",
    "python train.py 2>&1 | tail -40 | hotfix explain -",
)
_NAMED = 3
_KEPT = 1024 * 1024  # bytes at the end of stdin; a traceback has a thousandth of that
_MOST = 64 * 1024 * 1024  # bytes of stdin


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("id", nargs="?", help="id of the bug, or - to read a traceback from stdin")
    parser.add_argument("--error", metavar="TEXT", help="find the bug by the message that you saw")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; 1 where an error message belongs to no known bug of this environment."""
    from .. import CommandError, bugs, screen

    if (chosen.id is None) == (chosen.error is None):
        raise CommandError("explain takes the id of a bug, or - and a traceback on stdin, or --error TEXT")
    if chosen.id is not None and chosen.id != "-":
        bug = bugs.named(chosen.id)
        if chosen.json:
            screen.print_json(_facts(bug))
        else:
            _print(screen.Screen(), bug)
        return 0
    text = chosen.error if chosen.error is not None else _end_of_stdin()
    if not text.strip():
        raise CommandError("there is no error message to look for")
    answer = answer_to(text)
    if chosen.json:
        screen.print_json(answer.to_dict())
    else:
        _print_answer(screen.Screen(), answer)
    return int(not (answer.here or answer.age))


@dataclass(frozen=True)
class Answer:
    """What a message belongs to.

    Attributes:
        here: the bugs that have this message and are in this environment, or in any if nothing is installed.
        age: what the message misses and this release is too old or too new for, if that is what it says.
        elsewhere: the bugs that have this message, and that this environment does not have.
        near: what resembles it.
    """

    here: tuple[Match, ...] = ()
    age: Optional[Age] = None
    elsewhere: tuple[Match, ...] = ()
    near: tuple[Match, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The public form: what ``hotfix explain --error --json`` prints."""
        found = [(one, "here") for one in self.here] + [(one, "elsewhere") for one in self.elsewhere]
        return {
            "release": self.age.to_dict(_release()) if self.age else None,
            "bugs": [
                {**_facts(one.bug), "match": round(one.score, 2), "fits": fits}
                for one, fits in [*found, *((one, "nearest") for one in self.near)]
            ],
        }


def _end_of_stdin() -> str:
    """The last part of what is piped in: a log ends with its traceback."""
    from .. import CommandError

    kept, size = b"", 0
    while piece := sys.stdin.buffer.read(_KEPT):
        size += len(piece)
        if size > _MOST:
            raise CommandError(f"stdin has more than {_MOST // 2**20} MB; pipe the end of it: `tail -n 400 LOG`")
        kept = (kept + piece)[-_KEPT:]
    return kept.decode("utf-8", "replace")


def answer_to(text: str) -> Answer:
    """What a message, or the traceback that ends with it, belongs to in this environment."""
    from . import messages, name_history

    found = messages.search(text)
    certain = [one for one in found if one.certain]
    here = tuple(one for one in certain if is_in_force(one.bug)[0] is not False)
    here = tuple(sorted(here, key=lambda one: not messages.is_of_a_neighbour(one.bug, text)))
    age = None if here else name_history.of_messages(messages.messages_in(text), _release())
    elsewhere = tuple(one for one in certain if one not in here)
    near = () if certain or age else tuple(found[:_NAMED])
    return Answer(here, age, elsewhere, near)


def is_in_force(bug: Bug) -> tuple[Optional[bool], str]:
    """Whether this environment has a bug, or None where nothing is installed that could; and that in a sentence."""
    from ...reports.report import of_fix
    from ...versions import installed
    from ...versions.judgement import Verdict
    from .. import bugs

    package = bug.where[0].partition(".")[0] if bug.where else bugs.PACKAGE
    entry = _entry(bug)
    if entry:
        row = of_fix(entry).rows()[0]
        has = row.verdict in (Verdict.BROKEN, Verdict.FOREIGN) or (row.verdict is Verdict.UNKNOWN and not row.harmless)
        known = package not in (bugs.PACKAGE,) or installed.find_spec(package) is not None
        return has if known else None, f"{row.verdict.value}: {row.reason}"
    release = _release()
    if release is None:
        return None, f"{bugs.PACKAGE} is not installed."
    if not bug.is_in(release):
        return False, f"{bugs.PACKAGE} {release} does not have it."
    for name, specifier in bug.needs.items():
        version = installed.version(name)
        if version is None or not specifier.contains(version, prereleases=True):
            there = f"{name} {version} is installed" if version else f"{name} is not installed"
            return False, f"{bugs.PACKAGE} {release} has it with {name}{specifier}; {there}."
    return True, f"{bugs.PACKAGE} {release} has it."


# ---------------------------------------------------------------------------------------------------------------------
# Below: what is printed.


def _print_answer(out: Any, answer: Answer) -> None:
    if answer.here:
        _print(out, answer.here[0].bug)
        if len(answer.here) > 1:
            out.line()
            out.line("The same message comes from:")
            out.table(("bug", "kind", "hotfix", "what"), [_row(one.bug) for one in answer.here[1:]])
            for one in answer.here[1:]:
                if one.bug.why_not:
                    out.line(f"{one.bug.id}: {one.bug.why_not}")
        _print_elsewhere(out, answer.elsewhere)
        return
    if answer.age:
        out.line(answer.age.sentence(_release()))
        _print_elsewhere(out, answer.elsewhere)
        return
    if answer.elsewhere:
        out.line("Not your bug here: this message belongs to a bug that this environment does not have.")
        _print_elsewhere(out, answer.elsewhere)
        return
    out.line("No known bug has this message.")
    for one in answer.near[:1]:
        has, sentence = is_in_force(one.bug)
        out.line(f"The nearest is {one.bug.id}: {one.bug.title}.")
        where = one.bug.where[0].partition(":")[2] if one.bug.where else ""
        if has is False:
            out.line(f"This environment does not have that one. {sentence}")
        elif where:
            out.line(
                f"It is that one if the traceback goes through {where}; `hotfix explain -` reads a whole traceback "
                "from stdin and looks."
            )


def _print_elsewhere(out: Any, matches: Sequence[Match]) -> None:
    for one in matches:
        out.line()
        out.line(f"{one.bug.id}: {one.bug.title}.")
        out.line(f"Not here: {is_in_force(one.bug)[1]}")


def _facts(bug: Bug) -> dict[str, Any]:
    from ... import proofs
    from .. import bugs

    entry = _entry(bug)
    report = bugs.report_of(entry) if entry else {}
    facts: dict[str, Any] = {
        **bug.to_dict(),
        "error": bug.error,
        "errors": [*bug.errors, *bug.names],
        "report": report,
        "here": is_in_force(bug)[1],
    }
    if entry:
        facts["proof"] = proofs.exists(entry.module, entry.load())
        facts["evidence"] = _evidence(entry)
    return facts


def _print(out: Any, bug: Bug) -> None:
    from ... import proofs
    from .. import bugs

    entry = _entry(bug)
    report = bugs.report_of(entry) if entry else {}
    out.line(f"{bug.id}: {bug.title}", "bold")
    out.line()
    rows = [("Kind", bug.kind)]
    rows += [("Repair" if one == "Here" else one, report[one]) for one in bugs.SECTIONS if one in report]
    if not entry:
        rows += [("Symptom", " / ".join(bug.errors))] if bug.errors else []
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
            if proofs.exists(entry.module, entry.load())
            else "none on this node"
        )
        of = f"{known['targets']} function{'' if known['targets'] == 1 else 's'}"
        rows.append(("Evidence", f"{known['broken']} broken and {known['fixed']} good sources of {of}"))
        rows.append(("Proof", proof))
    if bug.why_not:
        rows.append(("Not repaired", bug.why_not))
    rows.append(("This node", is_in_force(bug)[1]))
    rows.append(("What to do", _advice(bug)))
    if _neighbours(bug):
        rows.append(("Or else", f"{_neighbours(bug)}, with which it does not show."))
    out.facts([(name, text.replace("``", "`")) for name, text in rows])
    if entry and "table below" in report.get("Releases", ""):
        out.line()
        out.table(("broken in", "where"), _releases(entry))


def _row(bug: Bug) -> tuple[str, str, str, str]:
    return bug.id, bug.kind, bug.cure(), bug.title


def _entry(bug: Bug) -> Optional[Entry]:
    from ... import session

    return session.current().catalogue.entries.get(bug.id)


def _release() -> Optional[Version]:
    from ...versions import installed
    from .. import bugs

    return installed.version(bugs.PACKAGE)


def _advice(bug: Bug) -> str:
    if bug.repaired:
        begin = "Begin the program with `import hotfix.auto`, or start it with `hotfix run -- ...`"
        return f"{begin}, with HOTFIX_OPTIN={bug.id}." if bug.optin else f"{begin}."
    if bug.fixed_in:
        return f"hotfix does not repair it; transformers {bug.fixed_in[0]} does."
    return "hotfix does not repair it, and no release is known to."


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _neighbours(bug: Bug) -> str:
    """The versions of other packages with which a bug does not show, where it needs a part of them."""
    others = (
        " or ".join(f"{name}{_OPPOSITE[one.operator]}{one.version}" for one in specifier if one.operator in _OPPOSITE)
        for name, specifier in bug.needs.items()
    )
    return ", or ".join(one for one in others if one)


def _releases(entry: Entry) -> list[tuple[str, str]]:
    """The broken releases, and the models or modules in which they are that."""
    from ...reports.tables import model_of

    places: dict[str, dict[str, None]] = {}
    for target, releases in entry.targets.items():
        places.setdefault(releases, {})[model_of(target)] = None
    return [(releases or "as its matcher finds", ", ".join(found)) for releases, found in places.items()]


def _evidence(entry: Entry) -> dict[str, int]:
    from ...versions import verdict
    from ...versions.judgement import Verdict

    known = verdict.evidence(verdict.evidence_file(entry.load()))
    verdicts = [verdict for digests in known.values() for verdict in digests.values()]
    return {
        "targets": len(known),
        "broken": verdicts.count(Verdict.BROKEN),
        "fixed": verdicts.count(Verdict.FIXED),
    }
