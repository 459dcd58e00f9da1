"""The outcomes of all fixes at one moment: those that happened (the ledger) and those that the source foretells."""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Optional

from . import __version__, ledger, policy, registry, watch
from .ledger import Outcome, State, Verdict
from .versions import gate, installed, source

_DIGEST_LENGTH = 12
_PACKAGES = ("transformers", "torch", "flash-attn", "xformers", "accelerate", "trl", "peft", "deepspeed")


@dataclass(frozen=True)
class Report:
    """What is repaired, what will be, and what is left alone.

    Attributes:
        outcomes: one for each target of each fix, in the order of the shelf.
        packages: versions of what is installed and matters, by distribution.
        digest: short name of the patch set; see `hotfix.digest`.
        patches: what the digest is made of, one line for each target that is repaired or will be: the fix, the target,
            the digest of its source, the digest of the cure.
    """

    outcomes: tuple[Outcome, ...]
    packages: Mapping[str, str]
    digest: str
    patches: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __len__(self) -> int:
        return len(self.outcomes)

    def to_dict(self) -> dict[str, object]:
        """The public form: what ``hotfix status --json`` prints."""
        return {
            "hotfix": __version__,
            "digest": self.digest,
            "python": platform.python_version(),
            "packages": dict(self.packages),
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }

    def to_json(self) -> str:
        """The public form as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {version}" for name, version in self.packages.items()) or "nothing to repair"
        lines = [f"hotfix {__version__} ({self.digest}) on {packages}", ""]
        rows = [("fix", "target", "verdict", "state", "reason")]
        for one in self.worth_a_line():
            state = one.state.value + " (late)" * one.late
            rows.append((one.fix, one.target, one.verdict.value, state, one.reason))
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        for row in rows if len(rows) > 1 else ():
            cells = [cell.ljust(width) for cell, width in zip(row, widths)]
            lines.append("  ".join([*cells, row[4]]))
        return "\n".join([*lines, self.the_rest()])

    def __rich__(self) -> object:
        """What ``rich`` prints: one row for each fix."""
        from .commands import summary  # here, because a program that never prints a report does without

        return summary.rich_report(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: one row for each fix, its targets folded below."""
        from .commands import summary

        return summary.html_report(self)

    def worth_a_line(self) -> list[Outcome]:
        """The outcomes that say more than that nothing is to be done."""
        return [one for one in self if not _is_quiet(one)]

    def the_rest(self) -> str:
        """One sentence for all other outcomes."""
        counts = Counter(one.verdict.value for one in self if _is_quiet(one))
        if not counts:
            return ""
        kinds = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        return f"Nothing is to be done for {sum(counts.values())} other targets: {kinds}."


def _is_quiet(outcome: Outcome) -> bool:
    return outcome.state is State.SKIPPED and outcome.verdict in (Verdict.FIXED, Verdict.ABSENT, Verdict.UNAFFECTED)


def of_process() -> Report:
    """What happened in this process; what is selected and not imported yet is foretold from its source."""
    if watch.armed():
        registry.start(watch.environment())  # nothing watched may have been imported yet
    return _report(ledger.outcomes(), registry.selected(), "hotfix is not armed in this process.")


def of_environment(switches: policy.Policy) -> Report:
    """What would happen in a process that arms hotfix with these switches. Nothing is imported."""
    on = {
        entry.id
        for entry in registry.shelf().values()
        if not switches.disabled(entry.id, entry.kind, entry.optin, entry.group)
    }
    return _report({}, on, "", switches)


def _report(
    happened: Mapping[tuple[str, str], Outcome], on: set[str], off: str, switches: Optional[policy.Policy] = None
) -> Report:
    switches = switches or policy.current()
    outcomes: list[Outcome] = []
    marks = []
    for entry in registry.shelf().values():
        disabled = None
        if entry.id not in on:
            disabled = switches.disabled(entry.id, entry.kind, entry.optin, entry.group) or off
        try:
            fix = entry.load()
        except Exception as error:
            reason = f"The fix cannot be loaded: {type(error).__name__}: {error}"
            outcomes += [Outcome(entry.id, key, Verdict.UNKNOWN, State.FAILED, False, reason) for key in entry.aims]
            continue
        for target in fix.targets:
            seen = [outcome for (id, name), outcome in happened.items() if id == fix.id and _is(target, name)]
            now = seen or [_foretold(fix, target, disabled, switches)]
            outcomes += now
            if "*" in target.module:
                # Which modules the pattern stands for is known only when they come. Ready or repaired is the same.
                settled = all(one.verdict not in (Verdict.UNKNOWN, Verdict.FOREIGN) for one in now)
                if settled and not any(one.state in (State.DISABLED, State.FAILED) for one in now):
                    marks.append(f"{fix.id} {target} - {_cure_digest(fix)}")
                continue
            repaired = [one for one in now if one.state in (State.APPLIED, State.PENDING)]
            marks += [f"{fix.id} {one.target} {one.source} {_cure_digest(fix)}" for one in repaired]
    packages = {name: str(version) for name in _PACKAGES if (version := installed.version(name))}
    patches = tuple(sorted(marks))
    digest = hashlib.sha256("\n".join(patches).encode()).hexdigest()[:_DIGEST_LENGTH]
    return Report(tuple(outcomes), packages, digest, patches)


def _is(target: registry.Target, name: str) -> bool:
    module, _, qualname = name.partition(":")
    return qualname == target.qualname and target.aims_at(module)


def _foretold(fix: registry.Fix, target: registry.Target, disabled: Optional[str], switches: policy.Policy) -> Outcome:
    if "*" in target.module:
        reason = f"Judged when a module called {target.module} is imported."
        state = State.DISABLED if disabled else State.SKIPPED
        return Outcome(fix.id, str(target), Verdict.ABSENT, state, False, disabled or reason)
    good = registry.is_known_good(target.module.partition(".")[0], target.releases)
    judgement = (good and gate.recorded(fix, target)) or gate.survey(fix, target)
    state, reason = State.SKIPPED, judgement.reason
    if disabled:
        state, reason = State.DISABLED, disabled
    elif judgement.verdict is Verdict.BROKEN or (
        judgement.verdict is Verdict.UNKNOWN and switches.unknown is policy.Unknown.APPLY
    ):
        state, reason = State.PENDING, f"{reason} It is repaired when the module is imported."
    return Outcome(fix.id, str(target), judgement.verdict, state, False, reason, judgement.source)


def _cure_digest(fix: registry.Fix) -> str:
    """Digest of our own code: another version of a fix is another patch set. Its report and its proof do not count."""
    return _module_digest(fix.targets[0].body.__module__)


@cache
def _module_digest(name: str) -> str:
    tree = source.parse(inspect.getsource(sys.modules[name]))
    return source.digest(*(node for node in source.without_docstring(tree.body) if not _is_proof(node)))


def _is_proof(node: ast.stmt) -> bool:
    decorators = getattr(node, "decorator_list", [])
    names = {one.attr for one in decorators if isinstance(one, ast.Attribute)}
    return (isinstance(node, ast.Assign) and "FIX" in ast.dump(node.targets[0])) or bool(names & {"case", "recognises"})
