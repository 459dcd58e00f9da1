"""The data model: a bug and its cure (`Fix`), the places to change (`Target`), how the case runs (`CaseSpec`).

This module inspects no installation and changes nothing. Each fix has a module of its own, which declares it with the
methods of `Fix`; `hotfix.versions.verdict` judges it and `hotfix.patching` applies it.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable, NamedTuple, Optional, TypeVar, Union, overload

from ._support import parsing
from ._support.words import KINDS
from ._target import ADD, ALWAYS, EDIT, REPLACE, WRAP, Addition, Condition, Target, Way
from .pattern import Rewrite

__all__ = ["ALWAYS", "Addition", "CaseSpec", "Condition", "Fix", "Named", "Target", "Way"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
Named = Union[str, "tuple[str, str]"]
"""``module:qualname``, or a pair of that and the broken releases (``">=4.52.1,<=4.52.4"``)."""


class CaseSpec(NamedTuple):
    """How the case of a fix runs, where the default rule does not fit.

    The rule: without hotfix the case raises, or differs from the oracle; with hotfix it equals the oracle. The oracle
    is the same case in the first later release that is not broken and that can run it.

    Attributes:
        raises: the error without hotfix: a pattern that occurs in ``AssertionError: and the message``.
        oracles: releases that serve as oracle, by key of the target, or ``*``; an empty string if there is none.
        tolerance: largest difference from the oracle by dtype, as part of the largest number in a tensor.
        packages: releases of other packages, by distribution; None if it must not be installed, empty for any release.
        with_fixes: ids of fixes for other bugs that the case meets in some releases. They are armed on every broken
            release, before and after the repair, also by `hotfix verify`.
    """

    raises: str = ""
    oracles: Mapping[str, str] = MappingProxyType({})
    tolerance: Mapping[str, float] = MappingProxyType({})
    packages: Mapping[str, Optional[str]] = MappingProxyType({})
    with_fixes: tuple[str, ...] = ()


class _Given:
    """The functions that decorators attach to a fix after its construction."""

    def __init__(self) -> None:
        self.clean_up: Optional[Callable[[], None]] = None
        self.matcher: Optional[Callable[..., bool]] = None
        self.case: Optional[Callable[..., Any]] = None
        self.case_spec: Optional[CaseSpec] = None


@dataclass(frozen=True, eq=False)
class Fix:
    """One bug and its cure.

    Attributes:
        id: short name, words joined by hyphens; ``plugin:id`` for fixes of plugins. The default is the name of the
            declaring module, with hyphens.
        title: one line: the symptom that the user sees.
        kind: one of `KINDS`; ``silent`` means wrong numbers without a crash.
        needs: version specifiers of the other packages that the bug needs, by distribution name.
        upstream: issues and pull requests.
        fixed_in: first releases in which upstream has fixed it.
        optin: why the fix is off by default, so that ``HOTFIX_OPTIN`` must name its id or `group`, as a sentence; empty
            if it is on.
        group: a name for several fixes in ``HOTFIX_OPTIN`` and ``HOTFIX_SKIP``. If ``HOTFIX_OPTIN`` names the group,
            every program gets the names that its fixes otherwise restore only for code that would end.
        errors: the errors that the user sees: ``TypeName: message``, with ``…`` for any text. ``hotfix explain`` finds
            the bug by them. Do not declare errors that follow from an added name (``cannot import name``); see
            `hotfix.commands.bugs`.
        on_error, when, own, along: the condition of every target without a condition of its own; see `Condition`. For
            `on_error`, True means `errors`.
        everyone: why every caller is affected, for a fix that needs no condition.
        order: if several fixes change one target, the lowest comes first.
        matcher_decides: whether the matcher judges source that is not in the evidence.
        evidence: the evidence file of a fix that comes from a plugin.
        prefilter: a piece of text that every broken source contains; it lets the sweep skip files quickly. Rewrites
            have their own.
        exempt: definitions that the matcher calls broken but that stay unrepaired, with the reason, by
            ``module:qualname``. A pattern instead of the name exempts definitions that upstream has not repaired
            either.
        targets: the places that it changes.
        companions: places that change together with the first repaired target (`accompanies`).
    """

    id: str = ""
    title: str = ""
    kind: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    upstream: tuple[str, ...] = ()
    fixed_in: str = ""
    optin: str = ""
    group: str = ""
    errors: tuple[str, ...] = ()
    on_error: Union[bool, tuple[str, ...]] = False
    when: str = ""
    own: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    everyone: str = ""
    order: int = 0
    matcher_decides: bool = False
    evidence: Optional[Path] = None
    prefilter: str = ""
    exempt: Mapping[str, str] = field(default_factory=dict)
    targets: list[Target] = field(default_factory=list)
    companions: list[Target] = field(default_factory=list)
    _given: _Given = field(default_factory=_Given, repr=False)

    def __post_init__(self) -> None:
        if not self.id:
            declared_in = sys._getframe(2).f_globals["__name__"]  # past the constructor
            object.__setattr__(self, "id", declared_in.rpartition(".")[2].replace("_", "-"))
        if self.kind not in KINDS:
            raise ValueError(f"{self.id}: kind {self.kind!r} is not one of {', '.join(KINDS)}")

    # -- the cure ------------------------------------------------------------------------------------------------------

    def replaces(
        self, *targets: Named, fingerprint_of: tuple[str, ...] = (), **condition: Any
    ) -> Callable[[_Function], _Function]:
        """The decorated function becomes the body of the targets.

        Args:
            targets: ``module:qualname``, or a pair of that and the broken releases (``">=4.52.1,<=4.52.4"``).
            fingerprint_of: the definitions that decide the verdict, if not the target itself.
            condition: ``on_error``, ``when``, ``own``, ``along``, if they differ from those of the fix; see
                `Condition`. ``optin`` gives the reason why these targets are opt-in while the rest of the fix is on by
                default.
        """
        return self._decorator(REPLACE, targets, fingerprint_of=fingerprint_of, condition=condition)

    def wraps(
        self, *targets: Named, fingerprint_of: tuple[str, ...] = (), converts: bool = False, **condition: Any
    ) -> Callable[[_Function], _Function]:
        """The decorated function takes the original and returns the closure that takes its place.

        Args:
            targets: as in `replaces`.
            fingerprint_of: as in `replaces`.
            converts: whether it only converts input to the form of the release, for cases that `converts` cannot
                express.
            condition: as in `replaces`; a wrapper takes ``on_error`` and ``along``, and paths of ``own`` that begin
                with ``self``.
        """
        return self._decorator(WRAP, targets, fingerprint_of=fingerprint_of, converts=converts, condition=condition)

    @overload
    def edits(
        self, *targets: Named, fingerprint_of: tuple[str, ...] = ..., count: int = ..., decorator: str = ...
    ) -> Callable[[_Function], _Function]: ...

    @overload
    def edits(
        self,
        *targets: Named,
        old: Union[str, Sequence[str]],
        new: Union[str, Sequence[str]],
        beside: Union[str, Sequence[str]] = ...,
        alternatives: bool = ...,
        unless: Union[str, Sequence[str]] = ...,
        fingerprint_of: tuple[str, ...] = ...,
        count: int = ...,
        decorator: str = ...,
        **condition: Any,
    ) -> None: ...

    def edits(
        self,
        *targets: Named,
        old: Union[str, Sequence[str]] = (),
        new: Union[str, Sequence[str]] = (),
        beside: Union[str, Sequence[str]] = (),
        alternatives: bool = False,
        unless: Union[str, Sequence[str]] = (),
        fingerprint_of: tuple[str, ...] = (),
        count: int = 1,
        decorator: str = "",
        **condition: Any,
    ) -> Optional[Callable[[_Function], _Function]]:
        """Replace a piece of the targets' code by another: a semantic patch (see `hotfix.pattern`).

        Without `old` and `new` this is a decorator, for changes that they cannot express: the decorated function takes
        a syntax node and returns its replacement, or None if the node does not match.

        Args:
            targets: as in `replaces`.
            old: an expression or statements, as Python; a name such as ``__X`` matches any expression. Several
                pieces change together.
            new: the replacement; as many pieces as `old`.
            beside: further pieces that must occur for the code to be wrong. They stay unchanged, in the same function
                or in another definition that decides the verdict.
            alternatives: the pieces of `old` are forms of the same code in several releases, and one of them must
                occur.
            unless: pieces that do not occur as long as the code is wrong; none of them may occur.
            fingerprint_of: as in `replaces`; with a decorator, by default the target and the decorator.
            count: how often each piece must occur; otherwise nothing changes.
            decorator: ``module:qualname`` of a decorator of the targets: the edit changes its wrapper around each
                target, not the target itself.
            condition: as in `replaces`.

        Raises:
            ValueError: a piece is not Python, or `old` and `new` have different numbers of pieces.
        """
        if not old:
            how: dict[str, Any] = {"fingerprint_of": fingerprint_of, "count": count, "decorator": decorator}
            return self._decorator(EDIT, targets, **how, condition=condition)
        try:
            rewrite = Rewrite(old, new, beside, alternatives, unless)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"{self.id}: {error}") from error
        self._add(EDIT, targets, rewrite, fingerprint_of, count, decorator, condition=condition)
        return None

    def adds(self, *targets: Named, exported_by: tuple[Named, ...] = ()) -> Callable[[_Function], _Function]:
        """Add the decorated function or class under a name that the release lacks.

        It never replaces anything: if the release has the name, nothing happens. For pickle, ``repr`` and
        ``__module__``, the object belongs to the module that it was added to.

        Args:
            targets: ``module:name``, ``module:Class.name`` or ``module:DICT['name']``, or a pair of that and the
                releases that lack it.
            exported_by: packages that also get the name, or pairs of a package and the releases that lack the name
                there, if they differ.
        """
        return self._addition(targets, exported_by, is_made=False)

    def adds_made(
        self,
        *targets: Named,
        exported_by: tuple[Named, ...] = (),
        only_needed: bool = False,
        of_instances: bool = False,
    ) -> Callable[[_Function], _Function]:
        """Like `adds`; the decorated function takes the loaded module and returns the object.

        Use it for objects that are made from the release's own: another name, a constant.

        Args:
            targets: as in `adds`.
            exported_by: as in `adds`.
            only_needed: see `Addition`.
            of_instances: see `Addition`.
        """
        return self._addition(targets, exported_by, is_made=True, only_needed=only_needed, of_instances=of_instances)

    def adds_modules(self, *targets: Named) -> Callable[[_Function], _Function]:
        """Like `adds_made`; the decorated function takes the loaded package and returns the removed module.

        Args:
            targets: ``package:module``, or a pair of that and the releases that lack it.
        """
        return self._addition(targets, (), is_made=True, is_module=True)

    def exports(self, *targets: Named, leaf: str, only_needed: bool = False) -> None:
        """Export a name from a lazy package, if another module has it anyway or gets it from this fix.

        Args:
            targets: ``package:name``, or a pair of that and the releases that lack it.
            leaf: the module.
            only_needed: see `Addition`.
        """
        self._add(ADD, targets, Addition(None, False, "", leaf, only_needed=only_needed))

    def converts(
        self,
        *targets: Named,
        name: str,
        at: Union[str, Sequence[str]],
        given: tuple[str, ...] = (),
        unless: Union[str, Sequence[str]] = (),
        fingerprint_of: tuple[str, ...] = (),
    ) -> Callable[[_Function], _Function]:
        """Convert input to the form that this release understands, before the release interprets it.

        The decorated function takes the input and returns the object that the release sees instead: the same object if
        the release understands it. It may act only on input that the release would refuse or misread, and logs the
        conversion itself; the installation of the converter is not logged. The converter is a semantic patch (`edits`):
        a call after the statement that reads the value, or before the statement that interprets it.

        Args:
            targets: as in `replaces`.
            name: the local variable with the value.
            at: a statement of the target, as Python, or several; the call follows a statement that assigns to `name`.
            given: local variables that the function takes as well, by position.
            unless: pieces that occur only in releases that understand the input; see `Rewrite`.
            fingerprint_of: as in `replaces`.

        Raises:
            ValueError: `at` is not Python.
        """

        def decorate(converter: _Function) -> _Function:
            values = ", ".join((name, *given))
            call = f"from {converter.__module__} import {converter.__name__}\n{name} = {converter.__name__}({values})"
            statements = (at,) if isinstance(at, str) else tuple(at)
            reads = (statement.partition("=")[0].strip() == name for statement in statements)
            new = [
                f"{statement}\n{call}" if read else f"{call}\n{statement}" for statement, read in zip(statements, reads)
            ]
            try:
                rewrite = Rewrite(statements, new, unless=unless)
            except (SyntaxError, ValueError) as error:
                raise ValueError(f"{self.id}: {error}") from error
            self._add(EDIT, targets, rewrite, fingerprint_of, converts=True)
            return converter

        return decorate

    def accompanies(self, *targets: str, optin: str = "") -> Callable[[_Function], _Function]:
        """Like `wraps`, for code that is not broken itself but must change together with the targets.

        A companion is installed before the first repaired target; if that fails, the target stays unrepaired. The
        target's module must have imported the companion's.

        Args:
            targets: ``module:qualname``.
            optin: why it is opt-in, although the fix is on by default.
        """
        return self._decorator(WRAP, targets, into=self.companions, condition={"optin": optin})

    def cleans_up(self, function: _Function) -> _Function:
        """The decorated function undoes changes to objects that are not targets, such as classes of the user.

        It is called without arguments whenever the last step of the fix has been reverted.
        """
        self._given.clean_up = function
        return function

    @property
    def clean_up(self) -> Optional[Callable[[], None]]:
        """The function that undoes changes to objects that are not targets, or None."""
        return self._given.clean_up

    # -- recognizing the bug -------------------------------------------------------------------------------------------

    def recognises(self, matcher: _Function) -> _Function:
        """The decorated function takes the syntax tree of each fingerprinted definition: is it broken?

        Without a matcher, a definition is broken if a rewrite of the fix matches it.
        """
        self._given.matcher = matcher
        return matcher

    def is_broken(self, *nodes: Any, target: Optional[Target] = None) -> bool:
        """Whether the fix's own matcher calls source broken; the sweep turns the answer into evidence.

        Args:
            nodes: the syntax trees of the definitions that decide the verdict.
            target: the target that they belong to; any target if None.
        """
        matcher = self._given.matcher
        if matcher is not None:
            return bool(matcher(*nodes))
        targets = self.targets if target is None else [target]
        return any(rewrite.occurs_in(*nodes) for rewrite in _rewrites(targets))

    def prefilters(self) -> tuple[str, ...]:
        """Pieces of text, one of which every broken source contains; empty if none are known."""
        if self.prefilter:
            return (self.prefilter,)
        if self._given.matcher is not None:
            return ()
        texts = [
            target.implementation.prefilter for target in self.targets if isinstance(target.implementation, Rewrite)
        ]
        return tuple(dict.fromkeys(texts)) if len(texts) == len(self.targets) and all(texts) else ()

    def may_be_broken(self, text: str) -> bool:
        """Whether `is_broken` may be true for the parsed text, judging by the names in it."""
        if self._given.matcher is not None:
            return True
        return any(rewrite.may_occur_in(text) for rewrite in _rewrites(self.targets))

    # -- the proof -----------------------------------------------------------------------------------------------------

    @overload
    def case(self, function: _Function) -> _Function: ...

    @overload
    def case(self, **how: Any) -> Callable[[_Function], _Function]: ...

    def case(self, function: Optional[_Function] = None, **how: Any) -> Any:
        """The decorated function is the smallest run that shows the bug; see `hotfix.proofs.testbed`.

        Args:
            function: the case.
            how: the fields of `CaseSpec`, if the default rule does not fit: ``@FIX.case(raises="AssertionError:
                ...")``.
        """

        def decorate(function: _Function) -> _Function:
            self._given.case = function
            self._given.case_spec = CaseSpec(**how)
            return function

        return decorate if function is None else decorate(function)

    @property
    def proof(self) -> Optional[Callable[..., Any]]:
        """The case, or None. Our own fixes have theirs once their module in `hotfix.proofs` is imported."""
        return self._given.case

    @property
    def case_spec(self) -> CaseSpec:
        """How the case runs."""
        return self._given.case_spec or CaseSpec()

    # ------------------------------------------------------------------------------------------------------------------

    def _decorator(self, way: Way, targets: Iterable[Named], **how: Any) -> Callable[[_Function], _Function]:
        """A decorator that adds a target for each name; `how` goes to `_add`."""

        def decorate(implementation: _Function) -> _Function:
            self._add(way, targets, implementation, **how)
            return implementation

        return decorate

    def _addition(
        self,
        targets: Iterable[Named],
        exported_by: tuple[Named, ...],
        is_made: bool,
        is_module: bool = False,
        only_needed: bool = False,
        of_instances: bool = False,
    ) -> Callable[[_Function], _Function]:
        def decorate(value: _Function) -> _Function:
            for target in targets:
                name, releases = (target, "") if isinstance(target, str) else target
                module, _, qualname = name.partition(":")
                addition = Addition(value, is_made, value.__module__, module, is_module, only_needed, of_instances)
                for place in (module, *exported_by):
                    where, when = (place, releases) if isinstance(place, str) else place
                    self._add(ADD, [(f"{where}:{qualname}", when)], addition)
            return value

        return decorate

    def _add(
        self,
        way: Way,
        targets: Iterable[Named],
        implementation: Any,
        fingerprint_of: tuple[str, ...] = (),
        count: int = 1,
        decorator: str = "",
        into: Optional[list[Target]] = None,
        converts: bool = False,
        condition: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        asked = {name: value for name, value in condition.items() if name != "optin"}
        acting = self._condition(asked) if way.takes_condition and not converts else ALWAYS
        for target in targets:
            name, releases = (target, "") if isinstance(target, str) else target
            module, _, qualname = name.partition(":")
            on = fingerprint_of or ((qualname, decorator) if decorator else ())
            how = count, name, decorator, converts, acting, str(condition.get("optin", ""))
            (self.targets if into is None else into).append(
                Target(module, qualname, releases, on, way.name, implementation, *how)
            )

    def _condition(self, declared: Mapping[str, Any]) -> Condition:
        """The condition of a target: its own declaration, or that of the fix.

        Raises:
            ValueError: it acts on an error and the fix declares none, or `when` is not Python.
        """
        unknown = sorted(set(declared) - {"on_error", "when", "own", "along"})
        if unknown:
            raise ValueError(
                f"{self.id}: {', '.join(unknown)} is not a part of a condition; allowed are on_error, when, own, along"
            )
        on_error = declared.get("on_error", self.on_error)
        errors = tuple(self.errors) if on_error is True else tuple(on_error or ())
        if on_error and not errors:
            raise ValueError(f"{self.id} has on_error, but no errors; declare them: errors=(...)")
        when, own, along = (declared.get(name, getattr(self, name)) for name in ("when", "own", "along"))
        try:
            parsing.parse(textwrap.dedent(when))
        except SyntaxError as error:
            raise ValueError(f"{self.id}: `when` is not Python ({error.msg}): {when!r}") from None
        condition = Condition(self.id, errors, when, tuple(own), tuple(along))
        return condition if condition.pieces else ALWAYS


def _rewrites(targets: Iterable[Target]) -> list[Rewrite]:
    """The rewrites of some targets, each once."""
    implementations = {id(target.implementation): target.implementation for target in targets}
    return [made for made in implementations.values() if isinstance(made, Rewrite)]
