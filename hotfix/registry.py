"""Which fixes there are, what each of them is, and which aim at a module.

A fix lives in a module of its own (`hotfix.models` and its siblings) that is imported only when one of its targets
is. What must be known before that stands in ``versions/evidence/index.json``, which the sweep writes from the fixes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Callable, Optional, TypeVar

from . import ledger, policy, watch
from .errors import HotfixError
from .ledger import State, Verdict

INDEX = Path(__file__).parent / "versions" / "evidence" / "index.json"

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Target:
    """One place that a fix changes.

    Attributes:
        module: name of the module, or a pattern such as ``*.basic_var``.
        qualname: what is changed in it.
        releases: the releases of the package in which it is broken, as a version specifier; empty where the package
            has no releases.
        judged: what the verdict is made on: qualified names in the same module, or ``module:qualname``; empty means the
            target itself.
        instrument: ``replace``, ``wrap`` or ``edit`` (see `hotfix.surgery`).
        body: the replacement, the function that makes the closure, or the edit.
        count: how often the pattern of an edit occurs.
        key: ``module:qualname`` under which the evidence knows it; for a pattern that of the pattern.
        decorator: ``module:qualname`` of a decorator of the target; what is edited then is the function that it has
            put around this one target, and no other.
    """

    module: str
    qualname: str
    releases: str = ""
    judged: tuple[str, ...] = ()
    instrument: str = "replace"
    body: Any = None
    count: int = 1
    key: str = ""
    decorator: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}"

    def judged_names(self) -> list[tuple[str, str]]:
        """Module and qualified name of everything that the verdict is made on."""
        pairs = [name.rpartition(":") for name in self.judged or (self.qualname,)]
        return [(module or self.module, qualname) for module, _, qualname in pairs]

    def edited_name(self) -> tuple[str, str]:
        """Module and qualified name of the source that an edit changes."""
        module, _, qualname = (self.decorator or f"{self.module}:{self.qualname}").partition(":")
        return module, qualname

    def aims_at(self, module: str) -> bool:
        """Whether a module of this name has the target; ``*.basic_var`` means a top-level ``basic_var`` too."""
        return fnmatchcase(module, self.module) or fnmatchcase("." + module, self.module)

    def in_module(self, module: str) -> Target:
        """The same target in a module that the pattern stands for."""
        return self if module == self.module else replace(self, module=module)


@dataclass(frozen=True)
class Trial:
    """How the matrix tries the case of a fix, where the rule does not fit.

    The rule: without hotfix the case raises, or differs from the oracle; with it, it gives what the oracle gives. The
    oracle is the same case in the first later release that is not broken and in which it runs.

    Attributes:
        raises: what the case raises without hotfix: a pattern, searched for in ``AssertionError: and the message``.
        oracles: releases to take as oracle, by key of the target, or ``*``; an empty string if there is none.
        tolerance: largest difference from the oracle by dtype, as part of the largest number in a tensor.
        packages: releases of what is installed beside, by distribution; None where it must not be, empty for any.
        together: ids of fixes for other bugs that the case meets in some releases. They are armed on every broken
            release, before and after, by `hotfix verify` too.
    """

    raises: str = ""
    oracles: Mapping[str, str] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    packages: Mapping[str, Optional[str]] = field(default_factory=dict)
    together: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fix:
    """One bug and its cure.

    Attributes:
        id: short name, words joined by hyphens; fixes of plugins are called ``plugin:id``.
        title: one line: what the user sees.
        kind: one of `policy.KINDS`; ``silent`` means wrong numbers without a crash.
        needs: version specifiers of the other packages that the bug needs, by distribution name.
        upstream: issues and pull requests.
        fixed_in: first releases in which upstream has fixed it.
        optin: off unless asked for, by id or by `group`.
        group: name under which several opt-in fixes are asked for.
        order: where several fixes meet on one target, the lower one is applied first.
        trusts_shape: whether source that is not in the evidence is judged by the matcher.
        evidence: the evidence file of a fix that comes from a plugin.
        targets: the places that it changes.
        companions: places that are changed along with the first target that is repaired (`accompanies`).
        needle: a piece of text that every broken source contains; lets the sweep skip files quickly.
        spared: what the matcher calls broken and is left alone: why, by ``module:qualname``. A pattern in place of the
            name spares what upstream has not repaired either.
        trial: how the matrix tries the case.
    """

    id: str
    title: str
    kind: str
    needs: Mapping[str, str] = field(default_factory=dict)
    upstream: tuple[str, ...] = ()
    fixed_in: str = ""
    optin: bool = False
    group: str = ""
    order: int = 0
    trusts_shape: bool = False
    evidence: Optional[Path] = None
    needle: str = ""
    spared: Mapping[str, str] = field(default_factory=dict)
    trial: Trial = field(default_factory=Trial)
    targets: list[Target] = field(default_factory=list)
    companions: list[Target] = field(default_factory=list)
    _functions: dict[str, Callable[..., Any]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in policy.KINDS:
            raise ValueError(f"{self.id}: kind {self.kind!r} is not one of {', '.join(policy.KINDS)}")

    def replaces(
        self, *targets: str | tuple[str, str], judged: tuple[str, ...] = ()
    ) -> Callable[[_Function], _Function]:
        """The decorated function becomes the body of the targets.

        Args:
            targets: ``module:qualname``, or a pair of that and the broken releases (``">=4.52.1,<=4.52.4"``).
            judged: what the verdict is made on, if not the target itself.
        """
        return self._collect("replace", targets, judged, 1)

    def wraps(self, *targets: str | tuple[str, str], judged: tuple[str, ...] = ()) -> Callable[[_Function], _Function]:
        """The decorated function takes the original and returns the closure that takes its place."""
        return self._collect("wrap", targets, judged, 1)

    def edits(
        self, *targets: str | tuple[str, str], judged: tuple[str, ...] = (), count: int = 1, decorator: str = ""
    ) -> Callable[[_Function], _Function]:
        """The decorated function takes a syntax node and returns what takes its place, or None where it does not match.

        Args:
            targets: as in `replaces`.
            judged: as in `replaces`; with a decorator, by default the target and the decorator.
            count: how often the pattern must match; else nothing is touched.
            decorator: ``module:qualname`` of a decorator of the targets: what it has put around each of them is edited,
                not the target itself.
        """
        return self._collect("edit", targets, judged, count, decorator=decorator)

    def accompanies(self, *targets: str) -> Callable[[_Function], _Function]:
        """Like `wraps`, for what must change together with the targets although it is not broken itself.

        A companion is put in place before the first target that is repaired; if it cannot be, neither is the target.
        Its module must have been imported by the target's.
        """
        return self._collect("wrap", targets, (), 1, self.companions)

    def recognises(self, matcher: _Function) -> _Function:
        """The decorated function takes the syntax tree of each judged definition and tells whether it is broken."""
        self._functions["recognises"] = matcher
        return matcher

    def case(self, function: _Function) -> _Function:
        """The decorated function is the smallest run that shows the bug; see `hotfix.bed`."""
        self._functions["case"] = function
        return function

    @property
    def proof(self) -> Optional[Callable[..., Any]]:
        """The case, or None."""
        return self._functions.get("case")

    def is_broken(self, *nodes: Any) -> bool:
        """What the fix's own matcher says of source; the sweep turns it into evidence."""
        matcher = self._functions.get("recognises")
        return bool(matcher and matcher(*nodes))

    def _collect(
        self,
        instrument: str,
        targets: Iterable[str | tuple[str, str]],
        judged: tuple[str, ...],
        count: int,
        table: Optional[list[Target]] = None,
        decorator: str = "",
    ) -> Callable[[_Function], _Function]:
        def decorate(body: _Function) -> _Function:
            for one in targets:
                name, releases = (one, "") if isinstance(one, str) else one
                module, _, qualname = name.partition(":")
                on = judged or ((qualname, decorator) if decorator else ())
                (self.targets if table is None else table).append(
                    Target(module, qualname, releases, on, instrument, body, count, name, decorator)
                )
            return body

        return decorate


@dataclass(frozen=True)
class Entry:
    """What the index knows of a fix without importing its module.

    Attributes:
        id, title, kind, optin, group, fixed_in: as in `Fix`.
        home: the module that defines it as ``FIX``.
        aims: the broken releases (a specifier, or an empty string) by ``module:qualname``.
    """

    id: str
    title: str
    kind: str
    home: str
    optin: bool
    group: str
    fixed_in: str
    aims: Mapping[str, str]

    def load(self) -> Fix:
        """Import the module of the fix."""
        fix = import_module(self.home).FIX
        assert isinstance(fix, Fix)
        return fix


@cache
def shelf() -> dict[str, Entry]:
    """Every fix, by id: those that hotfix brings, and those of plugins."""
    from . import plugins

    own = {id: Entry(id=id, **entry) for id, entry in _index()["fixes"].items()}
    return {**own, **plugins.entries()}


# ---------------------------------------------------------------------------------------------------------------------
# Below: the step of the line. What is armed, and what happens when a module was imported.

_selected: dict[str, Entry] = {}
_lock = threading.RLock()


def begin(switches: policy.Policy) -> list[str]:
    """Put switches in force and select the fixes that they allow.

    Returns:
        The ids of the fixes that were not selected before.
    """
    policy.set_current(switches)
    if switches.problem:
        ledger.complain(f"nothing is changed: {switches.problem}")
        return []
    entries = shelf()
    unmatched = switches.unmatched(entries, {entry.group for entry in entries.values() if entry.group})
    for sentence in unmatched:
        if sentence.startswith("HOTFIX_REQUIRE"):
            raise HotfixError(sentence)
        ledger.complain(sentence)
    added = []
    with _lock:
        for id, entry in entries.items():
            reason = switches.disabled(id, entry.kind, entry.optin, entry.group)
            if reason and switches.requires(id):
                raise HotfixError(f"HOTFIX_REQUIRE={id}, but it is switched off: {reason}")
            if not reason and id not in _selected:
                _selected[id] = entry
                added.append(id)
    return added


def withdraw(ids: Optional[Iterable[str]] = None) -> None:
    """Deselect fixes (all, if None)."""
    with _lock:
        for id in list(_selected) if ids is None else ids:
            _selected.pop(id, None)


def selected() -> set[str]:
    """The ids of the fixes that are on in this process."""
    with _lock:
        return set(_selected)


def root_imported(root: str, environment: Mapping[str, str]) -> set[str]:
    """A watched package is about to be executed, or was found loaded.

    Args:
        root: name of the package.
        environment: the switches at arming.

    Returns:
        The modules of it that matter in the release that is installed.
    """
    start(environment)
    account(pinned=True)
    # What plugins repair in packages that are not watched themselves is waited for from now on.
    elsewhere = {key.partition(":")[0] for entry in list(_selected.values()) for key in entry.aims}
    elsewhere = {module for module in elsewhere if module.partition(".")[0] not in watch.ROOTS}
    return {module for module in targeted_modules(root) | elsewhere if "*" not in module}


def module_imported(name: str, environment: Mapping[str, str], late: bool = False) -> None:
    """A module that fixes aim at was executed, or was found loaded."""
    import sys

    from .versions import gate

    start(environment)
    module = sys.modules.get(name)
    if module is None:
        return
    try:
        for entry in list(_selected.values()):
            if not any(_aims(key, name) for key in entry.aims):
                continue
            if late and any(_outcomes_of(entry.id, name)):
                continue  # handled when it was imported
            with ledger.contained(entry.id, name, late):
                fix = entry.load()
                for target in fix.targets:
                    if target.aims_at(name):
                        with ledger.contained(entry.id, str(target.in_module(name)), late):
                            gate.admit(fix, target, module, late)
            if policy.current().requires(entry.id):
                _check_required(entry.id, name)
    finally:
        account(pinned=True)


def targeted_modules(root: str) -> set[str]:
    """The modules under `root` at which a selected fix aims, less those that this release cannot have broken."""
    modules = set()
    for entry in list(_selected.values()):
        for key, releases in entry.aims.items():
            module = key.partition(":")[0]
            if module.partition(".")[0] == root and not is_known_good(root, releases):
                modules.add(module)
    return modules


@cache  # many targets have one range
def is_known_good(package: str, releases: str) -> bool:
    """Whether the sweep has examined the release of a package that is installed, and it is none of the broken ones.

    A release that was examined is trusted to be what it is called; a development version, a local version and a
    release that is newer than the sweep are not, and their source is looked at.
    """
    from packaging.specifiers import SpecifierSet

    from .versions import installed

    spec, release = installed.find_spec(package), installed.version(package)
    if spec is None or spec.origin is None:  # an installation that was interrupted leaves folders
        return False
    if release is None or not releases or str(release) not in _index()["examined"].get(package, ()):
        return False
    return not SpecifierSet(releases).contains(release)


def account(pinned: bool = False) -> None:
    """Something has changed in this process: write its record, and hold it to its pin, where the user asked for them.

    Args:
        pinned: whether another patch set than that of ``HOTFIX_PIN`` is refused.
    """
    switches = policy.current()
    if not (switches.record or switches.pin):
        return
    from . import record, reporting

    try:
        report = reporting.of_process()
        if switches.record:
            record.update(switches.record, report)
    except Exception as error:
        # Keeping the books may not stop the work; not being able to keep a promise must.
        if switches.pin and pinned:
            raise HotfixError(f"HOTFIX_PIN={switches.pin}: the digest cannot be computed: {error}") from error
        ledger.warn_once(f"no record of this process ({type(error).__name__}: {error})")
        return
    if switches.pin and pinned and report.digest != switches.pin:
        raise HotfixError(
            f"HOTFIX_PIN={switches.pin}, but the patch set of this process is {report.digest}. `hotfix lock --check` "
            "says what has changed since hotfix.lock was written."
        )


def start(environment: Mapping[str, str]) -> None:
    """Select what the environment allows, unless something was selected already."""
    global _started
    with _lock:
        if not _started:
            _started = True
            begin(policy.Policy.lenient(environment))


def started(value: bool) -> None:
    """Say that the selection was made (`hotfix.apply`) or is to be made anew (`hotfix.revert`)."""
    global _started
    _started = value


_started = False


def _aims(key: str, module: str) -> bool:
    return Target(key.partition(":")[0], "").aims_at(module)


def _check_required(id: str, module: str) -> None:
    in_place = (Verdict.FIXED, Verdict.UNAFFECTED, Verdict.ABSENT)
    for outcome in _outcomes_of(id, module):
        if outcome.state is not State.APPLIED and outcome.verdict not in in_place:
            raise HotfixError(f"HOTFIX_REQUIRE={id}: not in place in {module}: {outcome.reason}")


def _outcomes_of(id: str, module: str) -> Iterator[ledger.Outcome]:
    for (fix, target), outcome in ledger.outcomes().items():
        if fix == id and target.partition(":")[0] == module:
            yield outcome


@cache
def _index() -> dict[str, Any]:
    index: dict[str, Any] = json.loads(INDEX.read_text(encoding="utf-8"))
    return index
