"""The changes made in a process, step by step, and how to undo them.

Each function whose code was replaced, and each name whose object was replaced, has one operation. An operation has one
step for each fix that contributes to it. A step is built, then installed, then recorded; a failure on the way leaves
nothing behind. `Journal.uninstall` undoes steps in reverse order, down to the identical objects. If other code has
changed a target since, its step cannot be undone: it stays recorded and is not installed a second time.
"""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, Optional, Union

from .._support.locks import Lock
from .._support.words import parts
from ..errors import Refusal
from ..fix import Addition, Fix, Target
from . import binding, code, compiled, live, placing, presence, restoring, scope


class Stranded(NamedTuple):
    """A step that could not be undone: the fix, the target, and the reason as a sentence."""

    fix: str
    target: Target
    reason: str


class Journal:
    """The operations of one session, behind one lock."""

    def __init__(self) -> None:
        self._operations: list[_Operation] = []
        self._made: dict[tuple[Addition, int], Any] = {}
        self._lock = Lock()
        restoring.prepare()

    def install(
        self, fix: Fix, target: Target, module: types.ModuleType, late: bool = False, plainly: bool = False
    ) -> str:
        """Install one fix in one target of a loaded module, once.

        Args:
            fix: the fix.
            target: the target.
            module: the loaded module.
            late: whether the module was loaded before hotfix.
            plainly: whether a name is added for all code, including code that only checks whether it exists.

        Returns:
            One sentence that describes the change.

        Raises:
            Refusal: the live object is not the one that the fix was written for.
        """
        with self._lock:
            operation: _Operation = target.way.operation(self, target, module, late, plainly)
            if operation.has(target):
                return operation.sentence(target, late)  # the same sentence as the first time
            if operation not in self._operations:
                self._operations.append(operation)
            try:
                operation.change([*operation.steps, _Step(fix, target)])
                if isinstance(operation, _Wrapping):
                    operation.count(live.resolve(module, target.qualname))
            finally:
                # Changes made before an error stay recorded.
                if not operation.steps:
                    self._operations.remove(operation)
            return operation.sentence(target, late)

    def restore_in_copy(self, original: types.ModuleType, copy: types.ModuleType) -> None:
        """Give a copy of a module the names that were restored in the original; both are removed together.

        Args:
            original: the module.
            copy: a module with the same names in its dictionary.
        """
        with self._lock:
            for operation in self._operations:
                if (
                    isinstance(operation, _Restoring)
                    and operation.owner is original
                    and isinstance(operation.value, restoring.Restored)
                ):
                    restoring.put(copy, operation.name, operation.value)
                    operation.copies.append(copy)

    def uninstall(self, fix_ids: Optional[set[str]] = None) -> list[Stranded]:
        """Undo the steps of these fixes, or of all fixes, in reverse order.

        Returns:
            The steps that could not be undone.
        """
        stranded = []
        gone: dict[str, Fix] = {}
        with self._lock:
            for operation in reversed(list(self._operations)):
                going = [step for step in operation.steps if fix_ids is None or step.fix.id in fix_ids]
                if not going:
                    continue
                reason = operation.blocked()
                if reason:
                    stranded += [Stranded(step.fix.id, step.target, reason) for step in going]
                    continue
                operation.change([step for step in operation.steps if step not in going])
                if not operation.steps:
                    self._operations.remove(operation)
                gone.update({step.fix.id: step.fix for step in going})
            standing = {step.fix.id for operation in self._operations for step in operation.steps}
            for fix in gone.values():
                if fix.clean_up is not None and fix.id not in standing:
                    fix.clean_up()
        return stranded

    def is_in_place(self, target: Target) -> bool:
        """Whether a target of a fix is repaired."""
        with self._lock:
            return any(operation.has(target) for operation in self._operations)

    def replaced_since(self, target: Target, module: str) -> Optional[str]:
        """A sentence that names the code that replaced an installed repair, or None.

        Args:
            target: of a fix that was applied.
            module: name of the module, if the target names a pattern.
        """
        if target.way.adds_name:
            with self._lock:
                is_there = any(adding.stands() for adding in self._changing(target) if isinstance(adding, _Adding))
            return None if is_there else "It was added, but another object has replaced it since."
        if self.has_left(target, module):
            return f"It was repaired in a module {module} that is not loaded any more."
        try:
            here = live.resolve(sys.modules[module], target.qualname).raw
        except Refusal as refusal:
            return f"It was repaired, but {refusal} any more."
        with self._lock:
            changed = [change for change in self._changing(target) if not isinstance(change, _Adding)]
            if any(change.stands_in(here) for change in changed):
                return None
            return f"It was repaired, but has been replaced since by {live.place_of(here)}."

    def has_left(self, target: Target, module: str) -> bool:
        """Whether nothing can get the function of a target from ``sys.modules``: the module is gone, or a stub instead.

        Args:
            target: of a fix that was applied.
            module: name of the module, if the target names a pattern.
        """
        loaded = sys.modules.get(module)
        if loaded is None or issubclass(type(loaded), types.ModuleType):
            return loaded is None
        try:
            live.resolve(loaded, target.qualname)
        except Exception:  # a mock, or any other object, may raise anything
            return True
        return False

    def is_scripted(self, target: Target) -> bool:
        """Whether torch.jit has compiled the file of a repaired function, which lacks the repair.

        torch.jit reads the file of the code; that of an unconditional replacement is ours, so the repair is compiled.
        """
        if not (target.way.edits_source or target.condition.pieces):
            return False
        with self._lock:
            changed = [change for change in self._changing(target) if isinstance(change, _Recoding)]
        return any(compiled.is_scripted(operation.function) for operation in changed)

    def first_code(self, function: types.FunctionType) -> types.CodeType:
        """The code that a function had before any operation of this journal."""
        with self._lock:
            for operation in self._operations:
                if isinstance(operation, _Recoding) and operation.function is function:
                    return operation.before
        return function.__code__

    def has_installed(self, thing: Any) -> bool:
        """Whether an object is a closure that this journal installed."""
        with self._lock:
            return any(isinstance(operation, _Wrapping) and thing in operation.ours for operation in self._operations)

    def __len__(self) -> int:
        """The number of steps."""
        with self._lock:
            return sum(len(operation.steps) for operation in self._operations)

    def _changing(self, target: Target) -> list[_Operation]:
        """The operations that have a step for a target."""
        return [operation for operation in self._operations if operation.has(target)]

    # -- the operation of a target; `Way.operation` selects one of these -----------------------------------------------

    def of_name(self, target: Target, module: types.ModuleType, late: bool, plainly: bool) -> _Operation:
        """The operation that adds a name."""
        *path, name = parts(target.qualname)
        owner: Any = module
        for part in path:
            holder, owner = owner, vars(owner).get(part)
            if owner is None:
                raise Refusal(f"{module.__name__} has no {target.qualname} at run time")
        for operation in self._operations:
            if isinstance(operation, _Adding) and operation.owner is owner and operation.name == name:
                operation.enlist()
                return operation
        if presence.has(module, target.qualname):
            raise Refusal(f"{target.qualname} is there already")
        asks = (target.implementation.only_needed or not plainly) and name not in presence.OF_EVERY_CLASS
        if asks and isinstance(owner, dict):
            if late and not isinstance(owner, restoring.Entries):
                raise Refusal(f"{target.module} was imported before hotfix, and others may hold {path[-1]}")
            return _RestoringEntry(module, owner, name, self._made, holder, path[-1])
        return (_Restoring if asks else _Adding)(module, owner, name, self._made)

    def around_object(self, target: Target, module: types.ModuleType) -> _Operation:
        """The operation that puts closures around the object of a name."""
        site = live.resolve(module, target.qualname)
        for operation in self._operations:
            if isinstance(operation, _Wrapping) and operation.is_on(site):
                operation.expect(site)
                return operation
        if not callable(live.below_descriptor(site.raw)):
            raise Refusal(f"{target.qualname} is {site.raw!r} and cannot be wrapped")
        if site.others:
            site.others -= self._references_to(site.raw)
        return _Wrapping(site)

    def _references_to(self, raw: Any) -> int:
        """How often hotfix itself refers to an object whose code it has changed."""
        recoded = [operation for operation in self._operations if isinstance(operation, _Recoding)]
        return scope.references_to(raw) + sum(operation.references_to(raw) for operation in recoded)

    def on_code(self, target: Target, module: types.ModuleType) -> _Operation:
        """The operation that exchanges the code of a function."""
        site = live.resolve(module, target.qualname)
        decorator = _decorator_of(target) if target.decorator else None
        function = self._made_by(decorator, site) if decorator else site.function
        for operation in self._operations:
            if isinstance(operation, _Recoding) and operation.function is function:
                return operation
        if function is None:
            raise Refusal(f"{target.qualname} is {type(site.raw).__name__}, not a Python function")
        edited = decorator or function
        first = self.first_code(edited)
        is_of_edited = decorator is not None and function.__code__ not in first.co_consts
        return _Recoding(site, function, edited, first, self._edits_of(edited) if is_of_edited else ())

    def _made_by(self, decorator: types.FunctionType, site: live.Site) -> types.FunctionType:
        """The function that a decorator, as it was at first or as it is now, has put around the object at a site."""
        both = (*self.first_code(decorator).co_consts, *decorator.__code__.co_consts)
        inner = [const for const in both if isinstance(const, types.CodeType)]
        for layer in live.layers(site.raw):
            if isinstance(layer, types.FunctionType) and self.first_code(layer) in inner:
                return layer
        raise Refusal(f"{decorator.__qualname__} has put nothing around {site.name}")

    def _edits_of(self, function: types.FunctionType) -> tuple[Target, ...]:
        """The edits that a function has now."""
        recoded = [operation for operation in self._operations if isinstance(operation, _Recoding)]
        return tuple(step.target for operation in recoded if operation.function is function for step in operation.steps)


# ---------------------------------------------------------------------------------------------------------------------
# Below: operations.


class _Step(NamedTuple):
    fix: Fix
    target: Target


def _in_order(steps: Iterable[_Step]) -> list[_Step]:
    return sorted(steps, key=lambda step: (step.fix.order, step.fix.id))


def _record_places(site: live.Site, old: Iterable[_Step], new: Iterable[_Step], raw: Any, function: Any) -> None:
    """Let other repairs of the same fixes see at run time which targets are repaired."""
    for step in old:
        scope.take_out(str(step.target))
    for step in new:
        scope.put(str(step.target), site.owner, site.name, raw, function)


class _Recoding:
    """A function with a new body: from one replacement, or from any number of edits.

    Attributes:
        site: the site of the function.
        function: the function.
        before: its code before any change.
        edited: the function to which edits apply: the function itself, or the decorator that made it.
        source: the code of `edited`.
        installed: the code that the function has now.
        original: the source of `edited` from its file; read once, since the file may change.
        earlier: edits that `edited` had when it made the function.
    """

    def __init__(
        self,
        site: live.Site,
        function: types.FunctionType,
        edited: types.FunctionType,
        source: types.CodeType,
        earlier: tuple[Target, ...] = (),
    ) -> None:
        self.earlier = earlier
        self.site = site
        self.function = function
        self.before = function.__code__
        self.edited = edited
        self.source = source
        self.steps: list[_Step] = []
        self.installed: Optional[types.CodeType] = None
        self.original: Optional[code.Written] = None

    def has(self, target: Target) -> bool:
        return any(step.target is target for step in self.steps)

    def references_to(self, raw: Any) -> int:
        """How often this operation refers to an object."""
        return sum(held is raw for held in (self.site.raw, self.site.function, self.function, self.edited))

    def stands_in(self, here: Any) -> bool:
        """Whether `here` still runs the installed object."""
        return self.function.__code__ is self.installed and live.is_below(self.function, here)

    def change(self, steps: Iterable[_Step]) -> None:
        """Install exactly these steps; a refusal changes nothing."""
        reason = self.blocked() if self.steps else None
        if reason:
            raise Refusal(reason)
        steps = _in_order(steps)
        made = self._built(steps)
        binding.provide(self.function, made)
        self.function.__code__ = made
        if self.installed is not None:
            binding.withdraw(self.function, self.installed)
        _record_places(self.site, self.steps, steps, self.site.raw, self.function)
        self.installed, self.steps = made, steps

    def blocked(self) -> Optional[str]:
        """Why it cannot be undone, as a sentence, or None."""
        if self.function.__code__ is self.installed:
            return None
        return f"its code was changed since, to that of {live.place_of(self.function)}"

    def _built(self, steps: list[_Step]) -> types.CodeType:
        if not steps:
            return self.before
        replacing = [step.target for step in steps if not step.target.way.edits_source]
        if len(replacing) == 1 and replacing[0].condition.pieces:
            code.check_replacement(self.function, self.before, replacing[0].implementation)
            replacing = []  # the release's own code is kept next to it
        others = [step.target for step in steps if all(step.target is not target for target in replacing)]
        if len(replacing) > 1 or (
            replacing and not all(getattr(edit.implementation, "counts", False) for edit in others)
        ):
            raise Refusal(f"{' and '.join(step.fix.id for step in steps)} cannot both change {self.before.co_name}")
        if replacing:
            return code.replacement_code(self.function, self.before, replacing[0].implementation, others)
        if self.original is None:
            text = "".join(linecache.getlines(self.source.co_filename, self.edited.__globals__))
            self.original = code.written(self.source, self.edited.__qualname__, text)
        made = code.edited_code(self.original, [*self.earlier, *(step.target for step in steps)])
        return made if self.edited is self.function else code.inner_code(made, self.before)

    def sentence(self, target: Target, late: bool) -> str:
        """A sentence that describes the change."""
        if self.edited is not self.function:
            return (
                f"The wrapper that {self.edited.__qualname__} puts around it was edited; every copy has the new body."
            )
        # Even if the repair is not late, the function may have been called while its own module was executed.
        made = live.made_by(self.before, None if late else sys.modules.get(self.function.__module__))
        rest = f" Functions that it created earlier keep the old code: {made}." if made else ""
        return f"Its body was {target.way.verb}; every copy of the function has the new one.{rest}"


def _attributes_of(raw: Any) -> dict[str, Any]:
    """The docstring of a function and the attributes that were set on it, without those of a wrapper."""
    function = live.below_descriptor(raw)
    attributes = {"__doc__": getattr(function, "__doc__", None), **getattr(function, "__dict__", {})}
    return {name: value for name, value in attributes.items() if name not in ("__wrapped__", "__signature__")}


class _Wrapping:
    """A name whose object was replaced by closures around it.

    Attributes:
        site: the site of the name.
        original: the object that it held before.
        installed: the object that it holds now; the original if there are no steps.
        ours: the closures installed now.
        refused: how many holders of the original, as far as they are known, could not be rebound.
        is_complete: whether nothing else is known to hold it.
    """

    def __init__(self, site: live.Site) -> None:
        self.site = site
        self.original = self.installed = site.raw
        self.steps: list[_Step] = []
        self.ours: tuple[Any, ...] = ()
        self.refused = 0
        self.is_complete = False
        self._copies = self._count = -1
        self._attributes = _attributes_of(self.original)
        self._theirs: dict[str, Any] = {}

    def has(self, target: Target) -> bool:
        return any(step.target is target for step in self.steps)

    def stands_in(self, here: Any) -> bool:
        """Whether `here` still runs the installed object."""
        return live.is_below(live.below_descriptor(self.installed), here)

    def is_on(self, site: live.Site) -> bool:
        """Whether the object at this site is the one that this operation installed, or wraps it."""
        here = self.site.owner is site.owner and self.site.name == site.name
        return here and live.is_below(live.below_descriptor(self.installed), site.raw)

    def change(self, steps: Iterable[_Step]) -> None:
        """Install exactly these steps; a refusal changes nothing."""
        steps = _in_order(steps)
        wanted, ours = self._built(steps)
        present = self.installed
        self._carry_over(wanted)
        if self.site.holds() is present:
            setattr(self.site.owner, self.site.name, wanted)
        _record_places(self.site, self.steps, steps, wanted, live.below_descriptor(wanted))
        others, self.site.others = self.site.others, None  # as it was before the first change
        self.installed, self.ours, self.steps = wanted, ours, steps
        (placing.put if steps else placing.take_out)(self, live.layers(self.original)[:-1])
        if self.is_defined_here():
            held = live.rebind_at_home(present, wanted, others)
            self.is_complete = held is not None
            if others is not None and held is not None:
                self._copies = others - held
            self.refused = live.rebind(present, wanted) if held is None else held

    def count(self, site: live.Site) -> None:
        """Count the references to the installed object, which are hotfix's own and those under other names."""
        self._count = -1 if site.others is None or not self.is_complete else site.others

    def expect(self, site: live.Site) -> None:
        """Before the next change: the references besides hotfix's own, if there have been no others since `count`."""
        self.site.others = self._copies if self._count >= 0 and site.others == self._count else None

    def _carry_over(self, wanted: Any) -> None:
        """Copy attributes that other code has set on earlier objects to the new one, such as a docstring."""
        present, before = _attributes_of(self.installed), self._attributes
        self._theirs.update({name: value for name, value in present.items() if before.get(name, before) is not value})
        for name, value in self._theirs.items():
            with suppress(AttributeError, TypeError):  # a function written in C
                setattr(live.below_descriptor(wanted), name, value)
        self._attributes = _attributes_of(wanted)

    def blocked(self) -> Optional[str]:
        """Why it cannot be undone, as a sentence, or None."""
        here = self.site.holds()
        if here is self.installed or not live.is_below(live.below_descriptor(self.installed), here):
            return None
        return f"{live.place_of(here)} was put around it since"

    def is_defined_here(self) -> bool:
        """Whether this module defines the function: then every copy is rebound, else only the name in this module."""
        owner = self.site.owner
        # A module may have its own class, whose `__module__` names another file: a lazy package, a module with hints.
        is_module = isinstance(owner, types.ModuleType)
        module = owner.__name__ if is_module else getattr(owner, "__module__", None)
        return getattr(live.below_descriptor(self.original), "__module__", None) == module

    def _built(self, steps: list[_Step]) -> tuple[Any, tuple[Any, ...]]:
        if not steps:
            return self.original, ()
        wanted, ours = live.below_descriptor(self.original), []
        for step in steps:
            library = step.target.module.partition(".")[0]
            wanted = code.closure(step.target.implementation, wanted, step.target.condition, library)
            ours.append(wanted)
        if isinstance(self.original, (staticmethod, classmethod)):
            wanted = type(self.original)(wanted)
        elif isinstance(self.original, property):
            wanted = self.original.getter(wanted)
        return wanted, tuple(ours)

    def sentence(self, target: Target, late: bool) -> str:
        """A sentence that describes the change, and the references that could not be rebound."""
        if not late or not self.is_defined_here():
            return "It was wrapped."
        held = self.refused + (0 if self.is_complete else live.unreachable(self.original))
        rest = f"; {held} closures, partials or bound methods still hold the original" if held else ""
        return f"It was wrapped and its copies in loaded modules rebound{rest}."


class _Adding:
    """A name that was added to an owner that lacked it.

    Attributes:
        module: the module that gets the name, or that has the class that gets it.
        owner: the module, class or dictionary that has the name now.
        name: the name.
        made: the objects made from additions, by the addition and the identity of the module they were made for.
        value: the object behind the name; `_LATER` if a lazy package imports it on demand.
        target: ``module:qualname``, if the name is restored on demand.
    """

    def __init__(self, module: types.ModuleType, owner: Any, name: str, made: dict[tuple[Addition, int], Any]) -> None:
        self.module = module
        self.owner = owner
        self.name = name
        self.made = made
        self.steps: list[_Step] = []
        self.value: Any = None
        self.target = ""

    def has(self, target: Target) -> bool:
        return bool(self.steps) and self.steps[0].target is target

    def change(self, steps: Iterable[_Step]) -> None:
        """Install exactly these steps; a refusal changes nothing."""
        steps = list(steps)
        if len(steps) > 1:
            raise Refusal(f"{' and '.join(step.fix.id for step in steps)} cannot both add {self.name}")
        if steps:
            self._put(steps[0].target.implementation, steps[0])
        else:
            self._take_away()
        self.steps = steps

    def blocked(self) -> Optional[str]:
        """Why it cannot be removed, as a sentence, or None."""
        return None if self.stands() else f"another object has replaced {self.name} since"

    def sentence(self, target: Target, late: bool) -> str:
        """A sentence that describes the change."""
        return f"{target.qualname} was added, with its old meaning."

    def stands(self) -> bool:
        """Whether the name still has the object that was added."""
        if self.value is _LATER:
            return self.name in presence.lazy_names(self.owner)
        return self._held().get(self.name) is self.value

    def _held(self) -> Mapping[str, Any]:
        return self.owner if isinstance(self.owner, dict) else vars(self.owner)

    def _put(self, addition: Addition, step: _Step) -> None:
        package = f"{self.module.__name__}."
        if addition.leaf == self.module.__name__:
            self.value = self._made(addition, self.module)
            if isinstance(self.owner, dict):
                self.owner[self.name] = self.value
            else:
                setattr(self.owner, self.name, self.value)
            if isinstance(self.value, types.ModuleType):
                sys.modules[f"{package}{self.name}"] = self.value
        elif self.owner is self.module and "_class_to_module" in vars(self.owner):
            # A lazy package imports the other module when the name is first used.
            presence.lazy_names(self.owner)[self.name] = addition.leaf.removeprefix(package)
            self.value = _LATER
        else:
            leaf = sys.modules.get(addition.leaf)
            if leaf is None or not (addition.home or self.name in vars(leaf)):
                raise Refusal(f"{addition.leaf}, which has {self.name}, was not imported")
            self.value = vars(leaf)[self.name] if self.name in vars(leaf) else self._made(addition, leaf)
            setattr(self.owner, self.name, self.value)
        self.enlist()

    def enlist(self) -> None:
        """Add the name to the owner's ``__all__``, which is a new list after the module was executed again."""
        listed = self._held().get("__all__")
        if self.value is not None and isinstance(listed, list) and self.name not in listed:
            listed.append(self.name)

    def _made(self, addition: Addition, leaf: types.ModuleType) -> Any:
        """The object behind the name, created at first use and shared by all owners."""
        key = (addition, id(leaf))
        if key not in self.made:
            self.made[key] = self._named(addition.value(leaf) if addition.is_made else addition.value, addition)
        return self.made[key]

    def _named(self, value: Any, addition: Addition) -> Any:
        if isinstance(value, (types.FunctionType, type)) and value.__module__ == addition.home:
            # Pickle stores it by the name under which it can be imported.
            value.__module__ = addition.leaf
            value.__qualname__ = f"{self.owner.__qualname__}.{self.name}" if isinstance(self.owner, type) else self.name
        return value

    def _take_away(self) -> None:
        if self.value is _LATER:
            presence.lazy_names(self.owner).pop(self.name, None)
            vars(self.owner).pop(self.name, None)  # it may have been used already
        elif isinstance(self.owner, dict):
            del self.owner[self.name]
        else:
            delattr(self.owner, self.name)
            if isinstance(self.value, types.ModuleType):
                sys.modules.pop(f"{self.module.__name__}.{self.name}", None)
        listed = self._held().get("__all__")
        if isinstance(listed, list) and self.name in listed:
            listed.remove(self.name)


class _Restoring(_Adding):
    """A name that only code gets that would fail without it (see `hotfix.patching.restoring`).

    Attributes:
        copies: copies of the owner that have the name, too.
    """

    def __init__(self, *what: Any) -> None:
        super().__init__(*what)
        self.copies: list[types.ModuleType] = []

    def sentence(self, target: Target, late: bool) -> str:
        """A sentence that describes the change."""
        return f"{target.qualname} has its old meaning for code that would crash without it."

    def stands(self) -> bool:
        """Whether no other code has set another object."""
        if isinstance(self.value, types.ModuleType):
            return sys.modules.get(f"{self.module.__name__}.{self.name}") in (None, self.value)
        if isinstance(self.owner, type):
            return super().stands()
        return self.name not in vars(self.owner)

    def blocked(self) -> Optional[str]:
        """A module can always drop the name: it is kept apart from the module's own names."""
        return super().blocked() if isinstance(self.owner, type) else None

    def enlist(self) -> None:
        """Do nothing: a star-import keeps its result."""

    def _put(self, addition: Addition, step: _Step) -> None:
        package = f"{self.module.__name__}."
        self.target = f"{self.module.__name__}:{step.target.qualname}"
        origin: dict[str, str] = {"target": self.target, "fix": step.fix.id}
        if addition.leaf != self.module.__name__:
            is_lazy = self.owner is self.module and "_class_to_module" in vars(self.owner)
            leaf = sys.modules.get(addition.leaf)
            if not is_lazy and (leaf is None or not (addition.home or self.name in vars(leaf))):
                raise Refusal(f"{addition.leaf}, which has {self.name}, was not imported")
            self.value = restoring.Restored(self.name, None, partial(self._of_leaf, addition), **origin)
        else:
            value = self._made(addition, self.module)
            if isinstance(value, types.ModuleType):
                self.value = value
                restoring.MODULES.put(f"{package}{self.name}", value, step.fix.id)
                return
            self.value = (
                value if isinstance(value, restoring.Restored) else _kind_of(self.name, value)(self.name, value)
            )
            vars(self.value).update(origin)
        if isinstance(self.owner, type):
            restoring.put_in_class(self.owner, self.name, self.value)
        else:
            restoring.put(self.owner, self.name, self.value)

    def _of_leaf(self, addition: Addition) -> Any:
        """The object that the exporting module has under this name."""
        leaf = restoring.MODULES.known(addition.leaf) or import_module(addition.leaf)
        if self.name in vars(leaf):
            return vars(leaf)[self.name]
        return getattr(leaf, self.name) if addition.value is None else self._made(addition, leaf)

    def _take_away(self) -> None:
        restoring.forget(self.target)
        for copy in self.copies:
            restoring.take(copy, self.name, self.value)
        self.copies.clear()
        if isinstance(self.value, types.ModuleType):
            restoring.MODULES.take(f"{self.module.__name__}.{self.name}")
        elif isinstance(self.owner, type):
            restoring.take_from_class(self.owner, self.name)
        else:
            restoring.take(self.owner, self.name, self.value)


def _kind_of(name: str, value: Any) -> type[restoring.Restored]:
    if name == "__getitem__":
        return restoring.Subscript
    return restoring.Writable if getattr(value, "takes_assignments", False) is True else restoring.Restored


class _RestoringEntry(_Adding):
    """A dictionary key that only code gets that would fail without it.

    Attributes:
        holder: the module that has the dictionary.
        table: the name of the dictionary.
    """

    def __init__(
        self,
        module: types.ModuleType,
        owner: Any,
        name: str,
        made: dict[tuple[Addition, int], Any],
        holder: Any,
        table: str,
    ) -> None:
        super().__init__(module, owner, name, made)
        self.holder = holder
        self.table = table

    def sentence(self, target: Target, late: bool) -> str:
        """A sentence that describes the change."""
        return f"{target.qualname} has its old meaning for code that would crash without it."

    def stands(self) -> bool:
        """Whether no other code has replaced the dictionary or set the key."""
        return vars(self.holder).get(self.table) is self.owner and self.name not in self.owner

    def blocked(self) -> Optional[str]:
        """Why it cannot be removed, as a sentence, or None. The program's own entries stay."""
        here = vars(self.holder).get(self.table) is self.owner
        return None if here else f"another object has replaced {self.table} since"

    def enlist(self) -> None:
        """Do nothing: no list names the keys."""

    def _put(self, addition: Addition, step: _Step) -> None:
        if not isinstance(self.owner, restoring.Entries):
            self.owner = restoring.Entries(self.owner)
            setattr(self.holder, self.table, self.owner)
        self.target = f"{self.module.__name__}:{step.target.qualname}"
        value = self._made(addition, self.module)
        self.value = restoring.Restored(self.name, value, None, self.target, step.fix.id)
        self.owner.restored[self.name] = self.value

    def _take_away(self) -> None:
        restoring.forget(self.target)
        del self.owner.restored[self.name]
        if not self.owner.restored:
            setattr(self.holder, self.table, self.owner.as_it_was())


_LATER = object()
_Operation = Union[_Recoding, _Wrapping, _Adding]


def _decorator_of(target: Target) -> types.FunctionType:
    name, qualname = target.edited_name()
    module = sys.modules.get(name)
    function = live.resolve(module, qualname).function if module else None
    if function is None:
        raise Refusal(f"{target.decorator} is not a Python function that was imported")
    return function
