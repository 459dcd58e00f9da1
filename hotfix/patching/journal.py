"""What was changed in a process, step by step, and how it is undone.

Each function whose code, and each name whose object, was exchanged has one operation; each fix that has a hand in it
one step. `Journal.uninstall` undoes steps in reverse order, down to the identical objects.
"""

from __future__ import annotations

import linecache
import sys
import threading
import types
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from ..errors import Refusal
from ..fix import Fix, Target
from . import code, live


class Journal:
    """The operations of one session, behind one lock."""

    def __init__(self) -> None:
        self._operations: list[_Operation] = []
        self._lock = threading.RLock()

    def install(self, fix: Fix, target: Target, module: types.ModuleType, late: bool = False) -> str:
        """Put one fix in place in one target of a loaded module, once.

        Returns:
            One sentence: what was done.

        Raises:
            Refusal: the live object is not what the fix was written for.
        """
        with self._lock:
            site = live.resolve(module, target.qualname)
            operation = self._operation_on(site, target)
            if any(step.fix is fix and step.target is target for step in operation.steps):
                return "It was in place already."
            operation.add(_Step(fix, target))
            if operation not in self._operations:
                self._operations.append(operation)
        return operation.sentence(target, late)

    def uninstall(self, fix_ids: Optional[set[str]] = None) -> None:
        """Undo the steps of these fixes, or of all, in reverse order."""
        with self._lock:
            for operation in reversed(list(self._operations)):
                operation.remove(fix_ids)
                if not operation.steps:
                    self._operations.remove(operation)

    def is_in_place(self, fix: Fix, target: Target) -> bool:
        """Whether this target of this fix is repaired."""
        with self._lock:
            steps = [step for operation in self._operations for step in operation.steps]
            return any(step.fix is fix and step.target is target for step in steps)

    def first_code(self, function: types.FunctionType) -> types.CodeType:
        """The code that a function had before any operation of this journal."""
        with self._lock:
            for operation in self._operations:
                if isinstance(operation, _Recoding) and operation.function is function:
                    return operation.before
        return function.__code__

    def __len__(self) -> int:
        return len(self._operations)

    def _operation_on(self, site: live.Site, target: Target) -> _Operation:
        """The operation that has this site already, or a new one."""
        if target.method == "wrap":
            for one in self._operations:
                if isinstance(one, _Wrapping) and one.is_on(site):
                    return one
            if not callable(live.below_descriptor(site.raw)):
                raise Refusal(f"{target.qualname} is {site.raw!r} and cannot be wrapped")
            return _Wrapping(site, site.raw)
        decorator = _decorator_of(target) if target.decorator else None
        function = self._made_by(decorator, site) if decorator else site.function
        for one in self._operations:
            if isinstance(one, _Recoding) and one.function is function:
                return one
        if function is None:
            raise Refusal(f"{target.qualname} is {type(site.raw).__name__}, not a Python function")
        edited = decorator or function
        return _Recoding(function, function.__code__, edited, self.first_code(edited))

    def _made_by(self, decorator: types.FunctionType, site: live.Site) -> types.FunctionType:
        """The function that a decorator has put around what stands at a site."""
        inner = [one for one in self.first_code(decorator).co_consts if isinstance(one, types.CodeType)]
        for layer in live.layers(site.raw):
            if isinstance(layer, types.FunctionType) and self.first_code(layer) in inner:
                return layer
        raise Refusal(f"{decorator.__qualname__} has put nothing around {site.name}")


# ---------------------------------------------------------------------------------------------------------------------
# Below: operations.


@dataclass(frozen=True)
class _Step:
    fix: Fix
    target: Target

    def place(self) -> tuple[int, str]:
        """Where it stands among others on the same function."""
        return self.fix.order, self.fix.id


@dataclass(eq=False)
class _Recoding:
    """A function that has got another body: by one replacement, or by any number of edits.

    Attributes:
        function: the function.
        before: its code before any of it.
        edited: what the edits are made in: the function, or the decorator that has made it.
        source: the code of that.
    """

    function: types.FunctionType
    before: types.CodeType
    edited: types.FunctionType
    source: types.CodeType
    steps: list[_Step] = field(default_factory=list)

    def add(self, step: _Step) -> None:
        steps = sorted([*self.steps, step], key=_Step.place)
        self.function.__code__ = self._built(steps)  # the check comes first: _built refuses before anything changes
        self.steps = steps

    def remove(self, fix_ids: Optional[set[str]]) -> None:
        self.steps = [step for step in self.steps if fix_ids is not None and step.fix.id not in fix_ids]
        self.function.__code__ = self._built(self.steps)

    def _built(self, steps: list[_Step]) -> types.CodeType:
        if not steps:
            return self.before
        replacing = [step for step in steps if step.target.method == "replace"]
        if replacing and len(steps) > 1:
            raise Refusal(f"{' and '.join(step.fix.id for step in steps)} cannot both change {self.before.co_name}")
        if replacing:
            return code.replacement_code(self.function, self.before, replacing[0].target.implementation)
        text = "".join(linecache.getlines(self.source.co_filename, self.edited.__globals__))
        made = code.edited_code(self.source, self.edited.__qualname__, text, [step.target for step in steps])
        return made if self.edited is self.function else code.inner_code(made, self.before)

    def sentence(self, target: Target, late: bool) -> str:
        """What was done."""
        if self.edited is not self.function:
            return f"What {self.edited.__qualname__} has put around it was edited; every copy has the new body."
        verb = "replaced" if target.method == "replace" else "edited"
        return f"Its body was {verb}; every copy of the function has the new one."


@dataclass(eq=False)
class _Wrapping:
    """A name whose object was exchanged for closures around it."""

    site: live.Site
    original: Any
    steps: list[_Step] = field(default_factory=list)
    installed: Any = None

    def is_on(self, site: live.Site) -> bool:
        """Whether what stands at this site now is what this operation has put there."""
        here = self.site.owner is site.owner and self.site.name == site.name
        return here and self.installed is site.raw

    def add(self, step: _Step) -> None:
        self._install(sorted([*self.steps, step], key=_Step.place))

    def remove(self, fix_ids: Optional[set[str]]) -> None:
        self._install([step for step in self.steps if fix_ids is not None and step.fix.id not in fix_ids])

    def _install(self, steps: list[_Step]) -> None:
        present = self.original if self.installed is None else self.installed
        wanted = live.below_descriptor(self.original)
        for step in steps:
            wanted = code.closure(step.target.implementation, wanted)
        if not steps:
            wanted = self.original
        elif isinstance(self.original, (staticmethod, classmethod)):
            wanted = type(self.original)(wanted)
        self.steps = steps
        if vars(self.site.owner).get(self.site.name) is present:
            setattr(self.site.owner, self.site.name, wanted)
        if self._is_defined_here():
            live.rebind(present, wanted)
        self.installed = wanted if steps else None

    def _is_defined_here(self) -> bool:
        """An imported name is ours to change in this module only; a function of this module everywhere."""
        module = getattr(self.site.owner, "__module__", getattr(self.site.owner, "__name__", None))
        return getattr(live.below_descriptor(self.original), "__module__", None) == module

    def sentence(self, target: Target, late: bool) -> str:
        """What was done, and what could not be reached."""
        if not late or not self._is_defined_here():
            return "It was wrapped."
        held = live.unreachable(self.original)
        rest = f"; {held} closures, partials or bound methods still hold the original" if held else ""
        return f"It was wrapped and its copies in loaded modules rebound{rest}."


_Operation = Union[_Recoding, _Wrapping]


def _decorator_of(target: Target) -> types.FunctionType:
    name, qualname = target.edited_name()
    module = sys.modules.get(name)
    function = live.resolve(module, qualname).function if module else None
    if function is None:
        raise Refusal(f"{target.decorator} is not a Python function that was imported")
    return function
