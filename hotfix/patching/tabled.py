"""Names that a table restores: thousands of rows, of which a process reads those of the module that lacks a name.

The table, ``hotfix/names/removed.txt``, is written by ``tools/names.py`` from the wheels. Its first line has the
modules that lack something, by the release since when they do; then come the modules, each with its rows::

    4.47.0 modeling_utils trainer;5.0.0 utils
    @modeling_utils
    PretrainedConfig 5.0.0 alias transformers.configuration_utils:PretrainedConfig
    @generation_utils!
    GenerationMixin 4.41.0 alias transformers.generation.utils:GenerationMixin

A row says since which release the name is gone, and what stands for it: ``alias`` for another place, ``constant`` for a
literal, ``hollow`` for a class that can only be asked for. A name may have several rows, oldest first: the last one up
to the release counts; with ``-`` nothing stands for it. The package itself is called ``.``. A module with an
exclamation mark is gone itself; it exists again as soon as a program would end without it.

A module of the table gets a class with a ``__getattr__``, and that is all until somebody asks for what it lacks. The
asking code decides (see `hotfix.patching.asked`): a program that is prepared for the error gets the error. If what a
row names is not there, the error of the release stands.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Optional

from . import asked

PACKAGE = "transformers"
FILE = Path(__file__).resolve().parent.parent / "names" / "removed.txt"
GONE = "!"
"""Behind the name of a module that the release lacks as a whole."""


FIXES = {"alias": "names-elsewhere", "constant": "constants-removed", "hollow": "attention-classes-by-kind-removed"}
"""The fix that has the rows of a kind."""
NOTHING = "-"
"""The kind of a row that ends an earlier one: nothing stands for the name any more."""


class Row(NamedTuple):
    """What stands for a name.

    Attributes:
        kind: ``alias``, ``constant`` or ``hollow``.
        value: ``module:name`` (``module:`` for the module itself), a literal, or the class of today.
    """

    kind: str
    value: str


class Removed:
    """The table, for one release.

    Args:
        release: the installed release, as numbers.
        fixes: the id of the fix by kind of row; rows of another kind are left alone.
        path: the file.

    Attributes:
        fixes: as given.
        modules: the modules that lack something, those that are gone themselves with `GONE` behind their names.
    """

    def __init__(
        self,
        release: tuple[int, ...],
        fixes: Mapping[str, str],
        path: Path = FILE,
    ) -> None:
        self._release = release
        self.fixes = fixes
        self._path = path
        self._rows: dict[str, Mapping[str, Row]] = {}
        self._values: dict[tuple[str, str], Any] = {}
        self._classes: dict[type, type] = {}
        self._changed: list[tuple[types.ModuleType, type, type]] = []
        if fixes:
            asked.prepare()
        with path.open(encoding="utf-8") as file:
            groups = (group.split() for group in file.readline().split(";"))
            self.modules = frozenset(
                f"{PACKAGE}.{one}".rstrip(".")
                for first, *names in filter(None, groups)
                if numbers(first) <= release
                for one in names
            )
        if "alias" in fixes and any(one.endswith(GONE) for one in self.modules):
            asked.MODULES.listen(self.module, fixes["alias"])

    def put(self, module: types.ModuleType) -> None:
        """Have a module answer for names that it lacks, if there are any."""
        base = type(module)
        if module.__name__ not in self.modules or base in self._classes.values():
            return
        kind = self._classes.get(base) or self._classes.setdefault(base, _class_for(base, self))
        try:
            module.__class__ = kind
        except TypeError:  # a kind of its own: its names stay gone
            return
        self._changed.append((module, base, kind))

    def clear(self) -> None:
        """Give the modules back the classes that they had, unless they have others since."""
        for module, base, kind in reversed(self._changed):
            if type(module) is kind:
                module.__class__ = base
            else:  # a class of ours above it, which goes with its own last name
                above = asked.class_of(module)
                if above is not None and vars(above)[asked.BASE] is kind:
                    setattr(above, asked.BASE, base)
                    above.__bases__ = (base,)
        self._changed.clear()
        for name in list(self._values):
            asked.forget(":".join(name))
        self._values.clear()
        asked.MODULES.unlisten(self.module)

    def answer(self, module: types.ModuleType, name: str, frame: Optional[types.FrameType]) -> Any:
        """What a program gets for a name that a module lacks.

        Args:
            module: the module.
            name: the name.
            frame: that asks; None while a program is being compiled, where nobody is asked.

        Raises:
            LookupError: nothing.
        """
        row = self.rows(module.__name__).get(name)
        if row is None or row.kind not in self.fixes:
            raise LookupError(name)
        if frame is not None and not asked.would_end(AttributeError, frame, name):
            raise LookupError(name)
        value = self.value(module.__name__, name, row)
        asked.note(f"{module.__name__}:{name}", self.fixes[row.kind], frame)
        return value

    def module(self, name: str) -> Optional[types.ModuleType]:
        """A module that the release lacks as a whole; None where the table has nothing of it."""
        if not name.startswith(f"{PACKAGE}.") or f"{name}{GONE}" not in self.modules:
            return None
        key = name, ""
        if key not in self._values:
            from importlib.machinery import ModuleSpec

            made = types.ModuleType(name, "Restored by hotfix: each name stands for what became of it.")
            made.__spec__ = ModuleSpec(name, None, origin="hotfix")
            if any(one.startswith(f"{name}.") for one in self.modules):
                made.__path__ = []
            made.__package__ = name if hasattr(made, "__path__") else name.rpartition(".")[0]
            kind = self._classes.get(types.ModuleType)
            kind = kind or self._classes.setdefault(types.ModuleType, _class_for(types.ModuleType, self))
            made.__class__ = kind
            self._values[key] = made
        return self._values[key]  # type: ignore[no-any-return]

    def rows(self, module: str) -> Mapping[str, Row]:
        """The rows of a module that hold for this release, by name."""
        if module not in self._rows:
            self._rows[module] = dict(self._read(module))
        return self._rows[module]

    def value(self, module: str, name: str, row: Row) -> Any:
        """What a row stands for; the same object each time.

        Raises:
            LookupError: it is not there.
        """
        key = module, name
        if key not in self._values:
            self._values[key] = self._made(module, name, row)
        return self._values[key]

    # ------------------------------------------------------------------------------------------------------------------

    def _read(self, module: str) -> Iterator[tuple[str, Row]]:
        for name, first, row in _rows_in(_text_of(self._path), module):
            if numbers(first) <= self._release:
                yield name, row

    def _made(self, module: str, name: str, row: Row) -> Any:
        if row.kind == "constant":
            import ast

            return ast.literal_eval(row.value)
        where, _, what = row.value.rpartition(":") if row.kind == "alias" else (module, "", row.value)
        try:
            home = import_module(where)
            found: Any = getattr(home, what) if what else home
        except Exception as error:  # whatever it is that cannot be imported, the error of the release stands
            raise LookupError(row.value) from error
        return hollow(name, module, found) if row.kind == "hollow" else found


def kinds(module: str, name: str, releases: Iterable[str], path: Path = FILE) -> dict[str, str]:
    """By release the kind of row that stands for a name there, where one does.

    Args:
        module: that lacks the name.
        name: the name; an empty string for the module, which is gone itself.
        releases: those that are asked about.
        path: the file.
    """
    text = _text_of(path)
    if name:
        spans = [(numbers(first), row.kind) for given, first, row in _rows_in(text, module) if given == name]
    else:
        groups = (group.split() for group in text.partition("\n")[0].split(";"))
        short = f"{module.partition('.')[2]}{GONE}"
        spans = [(numbers(first), "alias") for first, *names in filter(None, groups) if short in names]
    found = {}
    for release in releases:
        held = [kind for first, kind in spans if first <= numbers(release)]
        if held and held[-1] != NOTHING:
            found[release] = held[-1]
    return found


@lru_cache(maxsize=1)
def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _rows_in(text: str, module: str) -> Iterator[tuple[str, str, Row]]:
    """The rows of a module: name, first release, what stands for it."""
    for mark in ("", GONE):
        head = f"\n@{module.partition('.')[2] or '.'}{mark}\n"
        begin = text.find(head)
        if begin < 0:
            continue
        begin += len(head)
        end = text.find("\n@", begin)
        for line in text[begin : end if end >= 0 else None].splitlines():
            name, first, kind, value = line.split(" ", 3)
            yield name, first, Row(kind, value)


def numbers(release: str) -> tuple[int, ...]:
    """A release as numbers."""
    return tuple(map(int, release.split(".")))


class Gone(NotImplementedError, AttributeError):
    """What a name stands for is not there any more; see `hotfix.names.refusing.Gone`."""


def hollow(name: str, module: str, now: type) -> type:
    """A class that can be asked for and inherited from, and neither built nor changed.

    As `hotfix.names.attention_classes`, which is not imported in the program's own calls.

    Args:
        name: of the class.
        module: that it belongs to.
        now: the class that is there for every kind of attention.
    """
    why = (
        f"{name} is gone from this release of transformers, and hotfix gives its name only: nothing in it is one. "
        f"{now.__name__} is the class for every kind of attention; to change it, use transformers.AttentionInterface."
    )

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise Gone(why)

    class Unpatched(type(now)):  # type: ignore[misc]  # the kind is known when it runs
        """The kind of such a class; a class that inherits from it may be changed."""

        def __setattr__(cls, attribute: str, value: Any) -> None:
            if cls is made and attribute not in ("__module__", "__qualname__", "__doc__"):
                raise Gone(f"{name}.{attribute} cannot be set, because nobody would notice. {why}")
            super().__setattr__(attribute, value)

    made: type = Unpatched(name, (now,), {"__init__": refuse, "__module__": module, "__doc__": why})
    return made


def _class_for(base: type, table: Removed) -> type:
    """The class of modules that a table answers for; they were of `base`."""
    inherited = getattr(base, "__getattr__", None)

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807 - its name  # pragma: no mutate block
        try:
            if inherited is None:
                raise asked.missing(self, type(self), name)
            return inherited(self, name)
        except AttributeError as error:
            if name.startswith("__"):
                raise
            frame: Optional[types.FrameType] = None
            if not asked.is_compiling():
                frame = sys._getframe(1)
                while frame is not None and str(frame.f_globals.get("__name__")).startswith("hotfix.patching."):
                    frame = frame.f_back
            try:
                return table.answer(self, name, frame)
            except LookupError:
                pass
            raise error from None

    members = {"__getattr__": __getattr__, "__module__": base.__module__, "__qualname__": base.__qualname__}
    return type(base.__name__, (base,), {**members, "__reduce__": _reduce(base)})


def _reduce(base: type) -> Any:
    """How such a module is pickled: as one of its own class."""

    def reduce(self: Any) -> Any:
        if base is types.ModuleType:
            return import_module, (self.__name__,)
        kind: Any = base
        made = kind.__reduce__(self)
        return (base, *made[1:]) if isinstance(made, tuple) and made[0] is type(self) else made

    return reduce
