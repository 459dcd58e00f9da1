"""``hotfix explain``: the report of one bug, found by its id or by the error message that somebody saw."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from packaging.version import Version

    from ...engine.entry import Entry
    from ..bugs import Bug
    from ..screen import Screen
    from .description import Guess
    from .messages import Match
    from .name_history import Age
    from .removed_names import Restored

HELP = "print the report of a bug, found by its id or its error message"
EXAMPLES = (
    "hotfix explain flash-rotary-dtype",
    "hotfix explain --error 'Input and cos/sin must have the same dtype'",
    "hotfix explain --error 'qwen2.5-vl flash attention crash 4.49'",
    "python train.py 2>&1 | tail -40 | hotfix explain -",
)
_NAMED = 3
_THREAD = re.compile(r"(?:https://github\.com/[\w./-]+/(?:issues|pull)/|[\w./-]*#)(\d+)(?:[#?].*)?")
_LINES = 32  # of a report with a table, besides its headings and the prompt
_FEWEST = 3  # rows of a table
_BROKEN_IN = ("broken in", "where")
_MARGIN = 16  # columns of a report that its names take
_KEPT = 1024 * 1024  # bytes at the end of stdin; a traceback has a thousandth of that
_MOST = 64 * 1024 * 1024  # bytes of stdin


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "id",
        nargs="*",
        help="id of the bug, its issue (#36065 or the address), - to read a traceback from stdin, or words",
    )
    parser.add_argument("--error", metavar="TEXT", help="find the bug by this error message or description")
    parser.add_argument(
        "--all",
        action="store_true",
        help="print the whole table of releases, even if it does not fit on one screen",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(chosen: argparse.Namespace) -> int:
    """Run the command; the status is 1 if an error message belongs to no known bug of this environment."""
    from .. import CommandError, bugs, screen

    if not chosen.id and chosen.error is None:
        raise CommandError("explain needs one of these: the id of a bug, --error TEXT, or - with a traceback on stdin")
    words = " ".join(chosen.id)
    thread = _THREAD.fullmatch(words)
    if chosen.error is None and thread:
        about = [bug for bug in bugs.known().values() if any(ref.endswith(f"#{thread[1]}") for ref in bug.refs)]
        if len(about) != 1:
            ids = ", ".join(bug.id for bug in about)
            raise CommandError(
                f"several bugs are about #{thread[1]}: {ids}" if about else f"no known bug is about #{thread[1]}"
            )
        words = about[0].id
    if chosen.error is None and words != "-" and " " not in words.strip():
        bug = bugs.named(words)
        if chosen.json:
            screen.print_json(_facts(bug))
        else:
            _print(screen.Screen(), bug, chosen.all)
        return 0
    # Words without quotes are parts of one message.
    text = _end_of_stdin() if words == "-" and chosen.error is None else f"{chosen.error or ''} {words}"
    if not text.strip():
        raise CommandError("the error message is empty; pass it with --error TEXT, or pipe a traceback to `explain -`")
    answer = answer_to(text)
    if chosen.json:
        screen.print_json(answer.to_dict())
    else:
        _print_answer(screen.Screen(), answer)
    return int(not (answer.here or answer.restored or answer.age))


@dataclass(frozen=True)
class Answer:
    """The answer to a message; the first part that is not empty counts.

    Attributes:
        here: the bugs with this message that are in this environment, or in any release if nothing is installed.
        restored: the removed name that the message misses, and that a row of a table restores.
        age: the name that the message misses, and that this release is too old or too new for.
        elsewhere: the bugs with this message that this environment does not have.
        near: bugs with a similar message.
        guess: bugs that fit a description in plain words.
    """

    here: tuple[Match, ...] = ()
    restored: Optional[Restored] = None
    age: Optional[Age] = None
    elsewhere: tuple[Match, ...] = ()
    near: tuple[Match, ...] = ()
    guess: Optional[Guess] = None

    def to_dict(self) -> dict[str, Any]:
        """The public form: the output of ``hotfix explain --error --json``."""
        matches = [
            *((match, "here") for match in self.here),
            *((match, "elsewhere") for match in self.elsewhere),
            *((match, "nearest") for match in self.near),
        ]
        facts = [{**_facts(match.bug), "match": _share(match), "fits": fits} for match, fits in matches]
        if self.restored:
            bug = _bug_of(self.restored)
            sentence = f"{self.restored.title()}. {self.restored.meaning()}"
            facts.insert(0, {**_facts(bug), "here": sentence, "match": 1.0, "fits": "here"})
        if self.guess:
            facts += [{**_facts(bug), "match": 0.0, "fits": "guess"} for bug in self.guess.bugs]
        return {"release": self.age.to_dict(_release()) if self.age else None, "bugs": facts}


def _share(match: Match) -> float:
    return round(match.score, 2)


def _end_of_stdin() -> str:
    """The last part of stdin: a log ends with its traceback."""
    from .. import CommandError

    kept, size = b"", 0
    while piece := sys.stdin.buffer.read(_KEPT):
        size += len(piece)
        if size > _MOST:
            raise CommandError(f"stdin has more than {_MOST // 2**20} MB; pipe the end of it: `tail -n 400 LOG`")
        kept = (kept + piece)[-_KEPT:]
    return kept.decode("utf-8", "replace")


def answer_to(text: str) -> Answer:
    """The answer to a message, a traceback that ends with it, or a description, for this environment."""
    from . import description, messages, name_history, removed_names

    matches = messages.search(text)
    certain = [match for match in matches if match.certain]
    here = tuple(match for match in certain if _is_here(match.bug))
    here = tuple(sorted(here, key=lambda match: not messages.is_of_a_neighbour(match.bug, text)))
    elsewhere = tuple(match for match in certain if match not in here)
    if here:
        return Answer(here, elsewhere=elsewhere)
    asked = list(messages.messages_in(text))
    restored = removed_names.of_messages(asked, _release())
    age = None if restored else name_history.of_messages(asked, _release())
    if restored or age or elsewhere:
        return Answer(restored=restored, age=age, elsewhere=() if restored else elsewhere)
    # Of those that fit alike, the bugs of this environment come first.
    near = tuple(sorted(matches[:_NAMED], key=lambda match: (-match.score * match.weight, not _is_here(match.bug))))
    in_words = not near and not any(message.error or message.form for message in asked)
    return Answer(near=near, guess=description.guess(text, _release()) if in_words else None)


def _is_here(bug: Bug) -> bool:
    return is_in_force(bug)[0] is not False


def is_in_force(bug: Bug) -> tuple[Optional[bool], str]:
    """Whether this environment has a bug, or None where the package is not installed; and a sentence about it."""
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
        if not known:
            return None, f"{bugs.PACKAGE} is not installed, so the bug cannot occur here."
        return has, f"{row.verdict.value}. {row.reason}"
    release = _release()
    if release is None:
        return None, f"{bugs.PACKAGE} is not installed, so the bug cannot occur here."
    if not bug.is_in(release):
        return False, f"{bugs.PACKAGE} {release} does not have it."
    for name, specifier in bug.needs.items():
        version = installed.version(name)
        if version is None or not specifier.contains(version, prereleases=True):
            there = f"{name} {version} is installed" if version else f"{name} is not installed"
            return False, f"{bugs.PACKAGE} {release} has it with {name}{specifier}; {there}."
    return True, f"{bugs.PACKAGE} {release} has it."


# ---------------------------------------------------------------------------------------------------------------------
# Below: printing.


def _print_answer(out: Screen, answer: Answer) -> None:
    if answer.here:
        _print(out, answer.here[0].bug)
        if len(answer.here) > 1:
            out.line()
            out.line("The same message comes from:")
            out.table(("bug", "kind", "hotfix", "what"), [_row(match.bug) for match in answer.here[1:]])
            for match in answer.here[1:]:
                if match.bug.why_not:
                    out.line(f"{match.bug.id}: {match.bug.why_not}")
        _print_elsewhere(out, answer.elsewhere)
    elif answer.restored:
        _print_restored(out, answer.restored)
    elif answer.age:
        out.line(answer.age.sentence(_release()))
        _print_elsewhere(out, answer.elsewhere)
    elif answer.elsewhere:
        out.line("No known bug of this environment has this message. Bugs of other environments have it.")
        _print_elsewhere(out, answer.elsewhere)
    elif answer.guess:
        out.line(answer.guess.sentence())
        out.table(("bug", "kind", "hotfix", "what"), [_row(bug) for bug in answer.guess.bugs])
        out.line("`hotfix explain ID` prints the report of one; `hotfix explain -` finds a bug by a whole traceback.")
    else:
        _print_nearest(out, answer.near)


def _print_nearest(out: Screen, near: Sequence[Match]) -> None:
    out.line("No known bug has this message.")
    if not near:
        out.line("`hotfix list WORD...` searches titles, messages and functions of all bugs that hotfix repairs.")
    for match in near[:1]:
        has, sentence = is_in_force(match.bug)
        out.line(f"The nearest is {match.bug.id}: {match.bug.title}.")
        where = match.bug.where[0].partition(":")[2] if match.bug.where else ""
        if has is False:
            out.line(f"This environment does not have that bug. {sentence}")
        elif where:
            out.line(
                f"It is that bug if the traceback goes through {where}; `hotfix explain -` reads a whole traceback "
                "from stdin and checks it."
            )


def _print_elsewhere(out: Screen, matches: Sequence[Match]) -> None:
    for match in matches:
        out.line()
        out.line(f"{match.bug.id}: {match.bug.title}.")
        out.line(f"Not here: {is_in_force(match.bug)[1]}")


def _print_restored(out: Screen, restored: Restored) -> None:
    bug = _bug_of(restored)
    out.line(f"{bug.id}: {restored.title()}.", "bold")
    out.line()
    out.facts([("Repair", restored.meaning()), ("What to do", _advice(bug))])


def _bug_of(restored: Restored) -> Bug:
    from .. import bugs

    return bugs.named(restored.fix)


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


def _rows(bug: Bug, entry: Optional[Entry], report: Mapping[str, str]) -> list[tuple[str, str]]:
    """The facts about a bug, each with its heading."""
    from ... import proofs
    from ...reports.tables import counted
    from .. import bugs

    rows = [("Kind", bug.kind)]
    rows += [("Repair" if name == "Here" else name, report[name]) for name in bugs.SECTIONS if name in report]
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
        of = counted(known["targets"], "function")
        sources = f"{known['broken']} broken and {known['fixed']} good sources of {of}"
        verify = f"; `hotfix verify {bug.id}`" if proofs.exists(entry.module, entry.load()) else ""
        rows.append(("Evidence", f"{sources}{verify}"))
    if bug.why_not:
        rows.append(("Not repaired", bug.why_not))
    if bug.optin and entry and entry.load().optin:
        rows.append(("Off by default", f"because {entry.load().optin}."))
    rows.append(("This node", is_in_force(bug)[1]))
    if not bug.optin:  # below, there is what switches it on
        rows.append(("What to do", _advice(bug)))
    if _neighbours(bug):
        rows.append(("Or else", f"install {_neighbours(bug)}, with which the bug does not occur."))
    return rows


def _print(out: Screen, bug: Bug, whole: bool = False) -> None:
    from ...reports.tables import counted, has_room
    from .. import bugs

    entry = _entry(bug)
    report = bugs.report_of(entry) if entry else {}
    out.line(f"{bug.id}: {bug.title}", "bold")
    out.line()
    rows = _rows(bug, entry, report)
    out.facts([(name, text.replace("``", "`")) for name, text in rows])
    if bug.optin:
        out.line()
        out.line("Off by default. Switch it on with the first line, or write the others at the top:")
        out.line(f"    HOTFIX_OPTIN={bug.id} hotfix run -- python train.py")
        out.line(f'    import os; os.environ["HOTFIX_OPTIN"] = "{bug.id}"')
        out.line("    import hotfix.auto")
    if entry and "table below" in report.get("Releases", ""):
        table = _releases(entry)
        height = sum(len(textwrap.wrap(text, (out.width or 80) - _MARGIN, break_on_hyphens=False)) for _, text in rows)
        lines = 1 if out.width is None or has_room(_BROKEN_IN, table, out.width) else 2
        most = len(table) if whole or out.width is None else (_LINES - height - 5 * bug.optin) // lines
        if most < min(_FEWEST, len(table)):
            out.line(f"Its table of releases has {counted(len(table), 'row')}; --all prints it.")
            return
        out.line()
        out.table(_BROKEN_IN, table[:most], cut=not whole)
        if most < len(table):
            out.line(f"And {counted(len(table) - most, 'more row')}; --all prints them.")


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
    if bug.optin:
        return f"This repair is off by default. Set HOTFIX_OPTIN={bug.id} before the program starts."
    if bug.repaired:
        return "Begin the program with `import hotfix.auto`, or start it with `hotfix run -- ...`."
    if bug.fixed_in:
        return f"hotfix does not repair it; transformers {bug.fixed_in[0]} does."
    if _neighbours(bug):
        return f"hotfix does not repair it; install {_neighbours(bug)}."
    return "hotfix does not repair it, and no release is known to."


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _neighbours(bug: Bug) -> str:
    """The versions of other packages with which a bug does not occur."""
    others = (
        " or ".join(
            f"{name}{_OPPOSITE[clause.operator]}{clause.version}"
            for clause in specifier
            if clause.operator in _OPPOSITE
        )
        for name, specifier in bug.needs.items()
    )
    return ", or ".join(filter(None, others))


def _releases(entry: Entry) -> list[tuple[str, str]]:
    """The broken releases, and the models or modules that they break."""
    from ...reports.tables import model_of

    places: dict[str, dict[str, None]] = {}
    for target, releases in entry.targets.items():
        places.setdefault(releases, {})[model_of(target)] = None
    return [(releases or "as its matcher decides", ", ".join(models)) for releases, models in places.items()]


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
