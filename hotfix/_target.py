"""The places that a fix changes (`Target`), how each is changed (`Way`), and when the change acts (`Condition`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ._support.words import covers

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Protocol, TypeVar

    _Operation = TypeVar("_Operation", covariant=True)

    class Operations(Protocol[_Operation]):
        """A journal of changes, as far as a way needs it."""

        def on_code(self, target: Target, module: ModuleType) -> _Operation:
            """The operation that exchanges the code of a function."""

        def around_object(self, target: Target, module: ModuleType) -> _Operation:
            """The operation that puts closures around the object of a name."""

        def of_name(self, target: Target, module: ModuleType, late: bool, plainly: bool) -> _Operation:
            """The operation that adds a name."""


class Condition(NamedTuple):
    """When the repaired code of a target runs; otherwise the release's own code does.

    Attributes:
        fix: id of the fix.
        on_error: errors that the release's own code raises when the bug is triggered: ``TypeName: message``, with
            ``…`` for any text. The release's code runs first, and the repaired code only after such an error.
        when: an expression over the arguments of the function, evaluated when it is called; imports may precede it.
        own: participants that must be the library's own code: ``self.compute_loss`` is the value of that attribute in
            this call, ``self`` its class.
        along: other places, ``module:qualname``, that must be repaired at the same time.
    """

    fix: str = ""
    on_error: tuple[str, ...] = ()
    when: str = ""
    own: tuple[str, ...] = ()
    along: tuple[str, ...] = ()

    @property
    def is_guarded(self) -> bool:
        """Whether the condition evaluates anything before the repaired code runs."""
        return bool(self.when or self.own or self.along)

    @property
    def pieces(self) -> tuple[str, ...]:
        """The parts of the condition that belong to the cure, as text."""
        return tuple(filter(None, (*self.on_error, self.when, *self.own, *self.along)))


ALWAYS = Condition()


class Target(NamedTuple):
    """One place that a fix changes.

    Attributes:
        module: name of the module, or a pattern such as ``*.basic_var``.
        qualname: the function, method, class or name in it.
        releases: the releases of the package in which it is broken, as a version specifier; empty where the package
            has no releases.
        fingerprint_of: the definitions that decide the verdict: qualified names in the same module, or
            ``module:qualname``; empty means the target itself.
        method: ``replace``, ``wrap``, ``edit`` or ``add`` (see `hotfix.patching`).
        implementation: the replacement, the function that makes the closure, the edit (a function of a node, or a
            `Rewrite`), or the `Addition`.
        occurrences: how often the pattern of an edit occurs.
        key: ``module:qualname`` in the evidence; for a pattern, the pattern's own key.
        decorator: ``module:qualname`` of a decorator of the target. The edit then changes the wrapper that this
            decorator has put around this one target, and no other.
        converts: whether it only converts input to the form of the release (`Fix.converts`). Without such input,
            nothing changes and nothing is logged.
        condition: when the repaired code runs.
        optin: why it is opt-in, although the fix is on by default; see `Fix.optin`.
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

    @property
    def way(self) -> Way:
        """How the target is changed.

        Raises:
            ValueError: no way has the name `method`.
        """
        if self.method not in WAYS:
            raise ValueError(f"{self}: method {self.method!r} is not one of {', '.join(WAYS)}")
        return WAYS[self.method]

    def fingerprint_names(self) -> list[tuple[str, str]]:
        """Module and qualified name of each definition that decides the verdict."""
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
        """The same target in a module that matches the pattern."""
        return self if module == self.module else self._replace(module=module)


class Addition(NamedTuple):
    """The object for a name that a release lacks.

    Attributes:
        value: the object; or, if `is_made`, a function that takes the loaded module and returns the object.
        is_made: whether it is made once the module is loaded.
        home: the module that defines `value`; empty if the leaf has the name anyway.
        leaf: the module that gets the name itself; if the target is another module, that one only exports it.
        is_module: whether it is a module of the package in which it is added.
        only_needed: whether only code that would crash without it gets it, even with an opt-in: the object has another
            meaning than before, or code that manages without the name does something else.
        of_instances: whether a release also has it if methods of the class set it on ``self``.
    """

    value: Any
    is_made: bool
    home: str
    leaf: str
    is_module: bool = False
    only_needed: bool = False
    of_instances: bool = False


class Way:
    """How a target is changed. Another way is another class here; no other code asks for the name of a way.

    Attributes:
        name: `Target.method`.
        verb: the change, in a report.
        adds_name: whether the release lacks the target. The verdict then depends on whether the name exists, not on a
            digest, and there is no call to count.
        is_around: whether a closure is put around the object that the name holds. No line of the target changes, and
            the module may have imported it.
        edits_source: whether the new code is compiled from the release's own source. Edits by several fixes combine.
        takes_condition: whether the repaired code can run under a `Condition`.
        sees_calls: whether counting code that runs before the repaired code sees a call as the caller made it.
    """

    name = ""
    verb = ""
    adds_name = False
    is_around = False
    edits_source = False
    takes_condition = True
    sees_calls = True

    def operation(
        self, journal: Operations[_Operation], target: Target, module: ModuleType, late: bool, plainly: bool
    ) -> _Operation:
        """The operation of a journal that makes the change; a new one unless the journal has it.

        Args:
            journal: makes and keeps the operations.
            target: the target.
            module: the loaded module.
            late: whether the module was loaded before hotfix.
            plainly: whether a name is added for all code, including code that only checks whether it exists.
        """
        return journal.on_code(target, module)

    def neighbour(self, target: Target) -> str:
        """The module that the verdict reads besides that of the target, or an empty string."""
        return ""


class Replace(Way):
    """Our function becomes the body of the target."""

    name = "replace"
    verb = "replaced"


class Edit(Way):
    """A piece of the target's source is replaced."""

    name = "edit"
    verb = "edited"
    edits_source = True


class Wrap(Way):
    """A closure takes the place of the object."""

    name = "wrap"
    verb = "wrapped"
    is_around = True
    sees_calls = False  # below the wrapper, the arguments are those that the wrapper passes on

    def operation(
        self, journal: Operations[_Operation], target: Target, module: ModuleType, late: bool, plainly: bool
    ) -> _Operation:
        return journal.around_object(target, module)


class Add(Way):
    """A name that the release lacks gets an object: an `Addition`."""

    name = "add"
    verb = "added"
    adds_name = True
    takes_condition = False  # the code that asks for the name decides
    sees_calls = False

    def operation(
        self, journal: Operations[_Operation], target: Target, module: ModuleType, late: bool, plainly: bool
    ) -> _Operation:
        return journal.of_name(target, module, late, plainly)

    def neighbour(self, target: Target) -> str:
        addition: Addition = target.implementation
        leaf = f"{target.module}.{target.qualname}" if addition.is_module else addition.leaf
        return leaf if leaf != target.module else ""


REPLACE, EDIT, WRAP, ADD = _WAYS = Replace(), Edit(), Wrap(), Add()
WAYS = {way.name: way for way in _WAYS}
