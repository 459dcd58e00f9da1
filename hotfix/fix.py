"""The data model: a bug and its cure (`Fix`), the places that it changes (`Target`), how its case is run (`CaseSpec`).

Nothing here looks at what is installed or changes anything. A fix is declared at the top of a module of its own, by
the methods of `Fix`; `hotfix.versions.verdict` judges it and `hotfix.patching` puts it in place.
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
from ._support.words import KINDS, covers
from .pattern import Rewrite

_Function = TypeVar("_Function", bound=Callable[..., Any])
Named = Union[str, "tuple[str, str]"]
"""``module:qualname``, or a pair of that and the broken releases (``">=4.52.1,<=4.52.4"``)."""


class Condition(NamedTuple):
    """When the repaired code of a target runs; otherwise the release's own code does.

    Attributes:
        fix: id of the fix.
        on_error: errors that the release's own code raises where the bug is triggered: ``TypeName: message``, with
            ``…`` for any text. Its own code runs first, the repaired code only after such an error.
        when: an expression over the arguments of the function, evaluated when it is called; imports may precede it.
        own: participants that must be the library's own code: ``self.compute_loss`` for what that attribute holds in
            this call, ``self`` for its class.
        along: other places, ``module:qualname``, that must be repaired at this moment, too.
    """

    fix: str = ""
    on_error: tuple[str, ...] = ()
    when: str = ""
    own: tuple[str, ...] = ()
    along: tuple[str, ...] = ()

    @property
    def is_guarded(self) -> bool:
        """Whether something is evaluated before the repaired code runs."""
        return bool(self.when or self.own or self.along)

    @property
    def pieces(self) -> tuple[str, ...]:
        """What is part of the cure, as text."""
        return tuple(filter(None, (*self.on_error, self.when, *self.own, *self.along)))


ALWAYS = Condition()


class Target(NamedTuple):
    """One place that a fix changes.

    Attributes:
        module: name of the module, or a pattern such as ``*.basic_var``.
        qualname: what is changed in it.
        releases: the releases of the package in which it is broken, as a version specifier; empty where the package
            has no releases.
        fingerprint_of: what the verdict is made on: qualified names in the same module, or ``module:qualname``; empty
            means the target itself.
        method: ``replace``, ``wrap``, ``edit`` or ``add`` (see `hotfix.patching`).
        implementation: the replacement, the function that makes the closure, the edit (a function of a node, or a
            `Rewrite`), or the `Addition`.
        occurrences: how often the pattern of an edit occurs.
        key: ``module:qualname`` under which the evidence knows it; for a pattern that of the pattern.
        decorator: ``module:qualname`` of a decorator of the target; what is edited then is the function that it has
            put around this one target, and no other.
        converts: whether it only brings what is read into the form of the release (`Fix.converts`): where nothing such
            is read, nothing changes and nothing is said.
        condition: when the repaired code runs.
        optin: why it is changed only if the fix is asked for, although the fix is on by default; see `Fix.optin`.
    """

    module: str
    qualname: str
    releases: str = ""
    fingerprint_of: tuple[str, ...] = ()
    method: str = "replace"
    implementation: Any = None
    occurrences: int = 1
    key: str = ""
    decorator: str = ""
    converts: bool = False
    condition: Condition = ALWAYS
    optin: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.qualname}"

    def fingerprint_names(self) -> list[tuple[str, str]]:
        """Module and qualified name of everything that the verdict is made on."""
        pairs = [name.rpartition(":") for name in self.fingerprint_of or (self.qualname,)]
        return [(module or self.module, qualname) for module, _, qualname in pairs]

    def edited_name(self) -> tuple[str, str]:
        """Module and qualified name of the source that an edit changes."""
        module, _, qualname = (self.decorator or f"{self.module}:{self.qualname}").partition(":")
        return module, qualname

    def covers(self, module: str) -> bool:
        """Whether a module of this name has the target; ``*.basic_var`` means a top-level ``basic_var`` too."""
        return covers(self.module, module)

    def in_module(self, module: str) -> Target:
        """The same target in a module that the pattern stands for."""
        return self if module == self.module else self._replace(module=module)


class Addition(NamedTuple):
    """What a name stands for that a release does not have.

    Attributes:
        value: the object; or, if `is_made`, a function of the loaded module that returns it.
        is_made: whether it is made when the module is there.
        home: the module that defines `value`; empty where the leaf has the name without this.
        leaf: the module in which the name is added itself; where that is another one, this is one that exports it.
        is_module: whether it is a module of the package in which it is added.
        only_needed: whether it is for code that would end without it, whatever was asked for: the object is not what
            it was, or code that does without it does something else.
    """

    value: Any
    is_made: bool
    home: str
    leaf: str
    is_module: bool = False
    only_needed: bool = False


class CaseSpec(NamedTuple):
    """How the case of a fix is run, where the rule does not fit.

    The rule: without hotfix the case raises, or differs from the oracle; with it, it gives what the oracle gives. The
    oracle is the same case in the first later release that is not broken and in which it runs.

    Attributes:
        raises: what the case raises without hotfix: a pattern, searched for in ``AssertionError: and the message``.
        oracles: releases to take as oracle, by key of the target, or ``*``; an empty string if there is none.
        tolerance: largest difference from the oracle by dtype, as part of the largest number in a tensor.
        packages: releases of what is installed beside, by distribution; None where it must not be, empty for any.
        with_fixes: ids of fixes for other bugs that the case meets in some releases. They are armed on every broken
            release, before and after, by `hotfix verify` too.
    """

    raises: str = ""
    oracles: Mapping[str, str] = MappingProxyType({})
    tolerance: Mapping[str, float] = MappingProxyType({})
    packages: Mapping[str, Optional[str]] = MappingProxyType({})
    with_fixes: tuple[str, ...] = ()


class _Given:
    """The functions that decorators give a fix after it was made."""

    def __init__(self) -> None:
        self.clean_up: Optional[Callable[[], None]] = None
        self.matcher: Optional[Callable[..., bool]] = None
        self.case: Optional[Callable[..., Any]] = None
        self.case_spec: Optional[CaseSpec] = None


@dataclass(frozen=True, eq=False)
class Fix:
    """One bug and its cure.

    Attributes:
        id: short name, words joined by hyphens; fixes of plugins are called ``plugin:id``. Without one it is the name
            of the module that declares the fix, with hyphens.
        title: one line: what the user sees.
        kind: one of `KINDS`; ``silent`` means wrong numbers without a crash.
        needs: version specifiers of the other packages that the bug needs, by distribution name.
        upstream: issues and pull requests.
        fixed_in: first releases in which upstream has fixed it.
        optin: why it is off unless asked for by id or by `group`, as a sentence; empty if it is on by default.
        group: name under which ``HOTFIX_OPTIN`` and ``HOTFIX_SKIP`` mean several fixes. The names that a fix restores
            by default, for code that would end, are there for every program if its group is asked for.
        errors: what the user sees where the bug raises: ``TypeName: message``, with ``…`` for any text. ``hotfix
            explain`` finds the bug by them. What follows from a name that is added (``cannot import name``) is not
            declared (`hotfix.commands.bugs`).
        on_error, when, own, along: the condition of every target that declares none itself; see `Condition`. For
            `on_error` True means `errors`.
        everyone: why every caller is affected, for a fix that needs no condition.
        order: where several fixes meet on one target, the lower one is applied first.
        matcher_decides: whether source that is not in the evidence is judged by the matcher.
        evidence: the evidence file of a fix that comes from a plugin.
        prefilter: a piece of text that every broken source contains; lets the sweep skip files quickly. Rewrites bring
            their own.
        exempt: what the matcher calls broken and is left alone: why, by ``module:qualname``. A pattern in place of the
            name exempts what upstream has not repaired either.
        targets: the places that it changes.
        companions: places that are changed along with the first target that is repaired (`accompanies`).
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
            fingerprint_of: what the verdict is made on, if not the target itself.
            condition: ``on_error``, ``when``, ``own``, ``along``, if not as the fix says; see `Condition`. ``optin``
                says why these targets are changed only if the fix is asked for, where the rest of it is on by default.
        """
        return self._decorator("replace", targets, fingerprint_of, condition=condition)

    def wraps(
        self, *targets: Named, fingerprint_of: tuple[str, ...] = (), converts: bool = False, **condition: Any
    ) -> Callable[[_Function], _Function]:
        """The decorated function takes the original and returns the closure that takes its place.

        Args:
            targets: as in `replaces`.
            fingerprint_of: as in `replaces`.
            converts: whether it only brings what is read into the form of the release, where `converts` does not fit.
            condition: as in `replaces`; a wrapper takes ``on_error`` and ``along``, and paths of ``own`` that begin
                with ``self``.
        """

        def decorate(implementation: _Function) -> _Function:
            self._add("wrap", targets, implementation, fingerprint_of, converts=converts, condition=condition)
            return implementation

        return decorate

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
        """What stands in the targets, and what should: a semantic patch (see `hotfix.pattern`).

        Without `old` and `new` it is a decorator, for what they cannot say: the decorated function takes a syntax node
        and returns what takes its place, or None where it does not match.

        Args:
            targets: as in `replaces`.
            old: an expression or statements, as Python; a name such as ``__X`` stands for any expression. Several
                such pieces are changed together.
            new: what takes its place; as many pieces as `old` has.
            beside: what makes it wrong, besides: pieces that stay, in the same function or in what is judged with it.
            alternatives: the pieces of `old` are forms of one thing in several releases: one of them must occur.
            unless: what does not stand there as long as it is wrong: pieces, none of which may occur.
            fingerprint_of: as in `replaces`; with a decorator, by default the target and the decorator.
            count: how often each piece must occur; else nothing is touched.
            decorator: ``module:qualname`` of a decorator of the targets: what it has put around each of them is edited,
                not the target itself.
            condition: as in `replaces`.

        Raises:
            ValueError: a piece is no Python, or there are not as many new ones as old ones.
        """
        if not old:
            return self._decorator("edit", targets, fingerprint_of, count, decorator, condition)
        try:
            rewrite = Rewrite(old, new, beside, alternatives, unless)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"{self.id}: {error}") from error
        self._add("edit", targets, rewrite, fingerprint_of, count, decorator, condition=condition)
        return None

    def adds(self, *targets: Named, exported_by: tuple[Named, ...] = ()) -> Callable[[_Function], _Function]:
        """The decorated function or class is what a name stands for that the release does not have.

        It refuses to take the place of anything: where the release has the name, nothing happens. Pickled, shown and
        asked for its module, the object is of the module that it was added to.

        Args:
            targets: ``module:name``, ``module:Class.name`` or ``module:DICT['name']``, or a pair of that and the
                releases that lack it.
            exported_by: packages that are to have the name, too, or pairs of that and the releases in which they lack
                it, where those are others.
        """
        return self._addition(targets, exported_by, is_made=False)

    def adds_made(
        self, *targets: Named, exported_by: tuple[Named, ...] = (), only_needed: bool = False
    ) -> Callable[[_Function], _Function]:
        """Like `adds`; the decorated function takes the loaded module, and returns what the name stands for.

        For what is made of what the release has: another name for it, a constant.

        Args:
            targets: as in `adds`.
            exported_by: as in `adds`.
            only_needed: see `Addition`.
        """
        return self._addition(targets, exported_by, is_made=True, only_needed=only_needed)

    def adds_modules(self, *targets: Named) -> Callable[[_Function], _Function]:
        """Like `adds_made`; the decorated function takes the loaded package, and returns the module that is gone.

        Args:
            targets: ``package:module``, or a pair of that and the releases that lack it.
        """
        return self._addition(targets, (), is_made=True, is_module=True)

    def exports(self, *targets: Named, leaf: str, only_needed: bool = False) -> None:
        """A lazy package is to have a name that another module has anyway, or that comes with one that is added.

        Args:
            targets: ``package:name``, or a pair of that and the releases that lack it.
            leaf: the module.
            only_needed: see `Addition`.
        """
        self._add("add", targets, Addition(None, False, "", leaf, only_needed=only_needed))

    def converts(
        self,
        *targets: Named,
        name: str,
        at: Union[str, Sequence[str]],
        given: tuple[str, ...] = (),
        unless: Union[str, Sequence[str]] = (),
        fingerprint_of: tuple[str, ...] = (),
    ) -> Callable[[_Function], _Function]:
        """What is read from outside gets the form that this release understands, before it is interpreted.

        The decorated function takes what was read, and returns what the release is to see in its place: the same object
        where the release understands that. It may only act on what the release would refuse or misread, and says so
        itself; putting it in place is said to nobody. It is a semantic patch (`edits`): a call of the function behind
        the statement in which the value is read, or before that in which it is interpreted.

        Args:
            targets: as in `replaces`.
            name: the local variable that has the value.
            at: a statement of the target, as Python, or several; behind one that assigns to `name` stands the call.
            given: local variables that the function takes as well, by position.
            unless: what does not stand there as long as the release does not understand it; see `Rewrite`.
            fingerprint_of: as in `replaces`.

        Raises:
            ValueError: `at` is no Python.
        """

        def decorate(converter: _Function) -> _Function:
            values = ", ".join((name, *given))
            call = f"from {converter.__module__} import {converter.__name__}\n{name} = {converter.__name__}({values})"
            statements = (at,) if isinstance(at, str) else tuple(at)
            reads = (one.partition("=")[0].strip() == name for one in statements)
            new = [f"{one}\n{call}" if read else f"{call}\n{one}" for one, read in zip(statements, reads)]
            try:
                rewrite = Rewrite(statements, new, unless=unless)
            except (SyntaxError, ValueError) as error:
                raise ValueError(f"{self.id}: {error}") from error
            self._add("edit", targets, rewrite, fingerprint_of, converts=True)
            return converter

        return decorate

    def accompanies(self, *targets: str, optin: str = "") -> Callable[[_Function], _Function]:
        """Like `wraps`, for what must change together with the targets although it is not broken itself.

        A companion is put in place before the first target that is repaired; if it cannot be, neither is the target.
        Its module must have been imported by the target's.

        Args:
            targets: ``module:qualname``.
            optin: why it is changed only if the fix is asked for, although the fix is on by default.
        """

        def decorate(implementation: _Function) -> _Function:
            self._add("wrap", targets, implementation, table=self.companions, condition={"optin": optin})
            return implementation

        return decorate

    def cleans_up(self, function: _Function) -> _Function:
        """The decorated function undoes what the cure has done to objects that are no targets.

        For classes and modules of the user's that it was asked to change. It is called without arguments whenever the
        last step of the fix has been taken out.
        """
        self._given.clean_up = function
        return function

    @property
    def clean_up(self) -> Optional[Callable[[], None]]:
        """What undoes the changes to objects that are no targets, or None."""
        return self._given.clean_up

    # -- what tells that it is needed ----------------------------------------------------------------------------------

    def recognises(self, matcher: _Function) -> _Function:
        """The decorated function takes the syntax tree of each fingerprinted definition and tells whether it is broken.

        Without one, a definition is broken in which the rewrites of the fix find what they look for.
        """
        self._given.matcher = matcher
        return matcher

    def is_broken(self, *nodes: Any, target: Optional[Target] = None) -> bool:
        """What the fix's own matcher says of source; the sweep turns it into evidence.

        Args:
            nodes: the syntax trees of what the verdict is made on.
            target: of which they are; any of them if None.
        """
        matcher = self._given.matcher
        if matcher is not None:
            return bool(matcher(*nodes))
        targets = self.targets if target is None else [target]
        rewrites = {id(one.implementation): one.implementation for one in targets}
        return any(isinstance(one, Rewrite) and one.occurs_in(*nodes) for one in rewrites.values())

    def prefilters(self) -> tuple[str, ...]:
        """Pieces of text of which every broken source contains one; empty where none can be told."""
        if self.prefilter:
            return (self.prefilter,)
        if self._given.matcher is not None:
            return ()
        texts = [one.implementation.prefilter for one in self.targets if isinstance(one.implementation, Rewrite)]
        return tuple(dict.fromkeys(texts)) if len(texts) == len(self.targets) and all(texts) else ()

    def may_be_broken(self, text: str) -> bool:
        """Whether `is_broken` can say so of what a text is parsed to, as far as the names in it tell."""
        if self._given.matcher is not None:
            return True
        rewrites = {id(one.implementation): one.implementation for one in self.targets}
        return any(isinstance(one, Rewrite) and one.may_occur_in(text) for one in rewrites.values())

    # -- the proof -----------------------------------------------------------------------------------------------------

    @overload
    def case(self, function: _Function) -> _Function: ...

    @overload
    def case(self, **how: Any) -> Callable[[_Function], _Function]: ...

    def case(self, function: Optional[_Function] = None, **how: Any) -> Any:
        """The decorated function is the smallest run that shows the bug; see `hotfix.proofs.testbed`.

        Args:
            function: the case.
            how: the fields of `CaseSpec`, where the rule does not fit: ``@FIX.case(raises="AssertionError: ...")``.
        """

        def decorate(function: _Function) -> _Function:
            self._given.case = function
            self._given.case_spec = CaseSpec(**how)
            return function

        return decorate if function is None else decorate(function)

    @property
    def proof(self) -> Optional[Callable[..., Any]]:
        """The case, or None. That of a fix of ours is there once its module in `hotfix.proofs` is imported."""
        return self._given.case

    @property
    def case_spec(self) -> CaseSpec:
        """How the case is run."""
        return self._given.case_spec or CaseSpec()

    # ------------------------------------------------------------------------------------------------------------------

    def _decorator(
        self,
        method: str,
        targets: Iterable[Named],
        fingerprint_of: tuple[str, ...],
        count: int = 1,
        decorator: str = "",
        condition: Mapping[str, Any] = MappingProxyType({}),
    ) -> Callable[[_Function], _Function]:
        def decorate(implementation: _Function) -> _Function:
            self._add(method, targets, implementation, fingerprint_of, count, decorator, condition=condition)
            return implementation

        return decorate

    def _addition(
        self,
        targets: Iterable[Named],
        exported_by: tuple[Named, ...],
        is_made: bool,
        is_module: bool = False,
        only_needed: bool = False,
    ) -> Callable[[_Function], _Function]:
        def decorate(value: _Function) -> _Function:
            for one in targets:
                name, releases = (one, "") if isinstance(one, str) else one
                module, _, qualname = name.partition(":")
                addition = Addition(value, is_made, value.__module__, module, is_module, only_needed)
                for place in (module, *exported_by):
                    where, when = (place, releases) if isinstance(place, str) else place
                    self._add("add", [(f"{where}:{qualname}", when)], addition)
            return value

        return decorate

    def _add(
        self,
        method: str,
        targets: Iterable[Named],
        implementation: Any,
        fingerprint_of: tuple[str, ...] = (),
        count: int = 1,
        decorator: str = "",
        table: Optional[list[Target]] = None,
        converts: bool = False,
        condition: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        asked = {name: value for name, value in condition.items() if name != "optin"}
        acting = self._condition(asked) if method in ("replace", "edit", "wrap") and not converts else ALWAYS
        for one in targets:
            name, releases = (one, "") if isinstance(one, str) else one
            module, _, qualname = name.partition(":")
            on = fingerprint_of or ((qualname, decorator) if decorator else ())
            how = count, name, decorator, converts, acting, str(condition.get("optin", ""))
            (self.targets if table is None else table).append(
                Target(module, qualname, releases, on, method, implementation, *how)
            )

    def _condition(self, declared: Mapping[str, Any]) -> Condition:
        """The condition of a target: what it declares itself, else what the fix declares.

        Raises:
            ValueError: it is to act on an error, and the fix declares none; `when` is not Python.
        """
        unknown = sorted(set(declared) - {"on_error", "when", "own", "along"})
        if unknown:
            raise ValueError(f"{self.id}: {', '.join(unknown)} is not a part of a condition")
        on_error = declared.get("on_error", self.on_error)
        errors = tuple(self.errors) if on_error is True else tuple(on_error or ())
        if on_error and not errors:
            raise ValueError(f"{self.id} acts on its error and declares none: errors=(...)")
        when, own, along = (declared.get(name, getattr(self, name)) for name in ("when", "own", "along"))
        try:
            parsing.parse(textwrap.dedent(when))
        except SyntaxError as error:
            raise ValueError(f"{self.id}: `when` is not Python ({error.msg}): {when!r}") from None
        condition = Condition(self.id, errors, when, tuple(own), tuple(along))
        return condition if condition.pieces else ALWAYS
