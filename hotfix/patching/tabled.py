"""Names that a table restores. It has thousands of rows; a process reads only those of modules that lack a used name.

``tools/names.py`` writes the table, ``hotfix/names/removed.txt``, from the wheels. Its first line has the modules that
lack names, by the first release that lacks them. The modules follow, each with its rows::

    4.47.0 modeling_utils trainer;5.0.0 utils
    @modeling_utils
    PretrainedConfig 5.0.0 alias transformers.configuration_utils:PretrainedConfig
    @generation_utils!
    GenerationMixin 4.41.0 alias transformers.generation.utils:GenerationMixin

A row has the first release without the name, and its replacement: ``alias`` for another place, ``constant`` for a
literal, ``output`` for a class of results with the same fields, ``hollow`` for a class that can be named but not used,
``empty`` for a class or a function (with brackets) of which only the name is left. A name may have several rows, oldest
first; the last row up to the installed release counts, and ``-`` means no replacement. The package itself is called
``.``. A module with an exclamation mark was removed itself; it is restored once a program would fail without it.

A module of the table gets a class with a ``__getattr__``, and nothing else until code uses a name that it lacks. That
code decides (see `hotfix.patching.restoring`): a program that is prepared for the error gets the error. If the
replacement in a row is missing, the release's own error is raised.

Its class has ``__all__`` as well. A star-import reads it, and the module that imports then gets what it would fail
without: names with a row, names that the release does not list, and names of Python and torch that modules of earlier
releases had imported (`PASSED_ON`).
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Optional

from . import compiling, restoring

PACKAGE = "transformers"
FILE = Path(__file__).resolve().parent.parent / "names" / "removed.txt"
GONE = "!"
"""The mark after the name of a module that the release lacks as a whole."""


FIXES = {
    "alias": "names-elsewhere",
    "constant": "constants-removed",
    "empty": "names-of-removed-modules",
    "hollow": "attention-classes-by-kind-removed",
    "output": "output-classes-removed",
    "star": "star-imports-of-modules",
}
"""The fix for the rows of each kind; there are no rows for star-imports."""
PASSED_ON = {
    **{name: f"typing:{name}" for name in ("Any", "Callable", "Dict", "List", "Optional", "Set", "Tuple", "Union")},
    **{name: f"{name}:" for name in ("copy", "json", "math", "os", "torch", "warnings")},
    "F": "torch.nn.functional:",
    "OrderedDict": "collections:OrderedDict",
    "Tensor": "torch:Tensor",
    "dataclass": "dataclasses:dataclass",
    "nn": "torch.nn:",
    "np": "numpy:",
}
"""Where the names are that modules of the library have imported from elsewhere, as in a row of the kind ``alias``."""
NOTHING = "-"
"""The kind of a row that ends an earlier one: the name has no replacement any more."""


class Row(NamedTuple):
    """The replacement of a name.

    Attributes:
        kind: a key of `FIXES`.
        value: ``module:name`` (``module:`` for the module itself), a literal, the base class and the fields, the
            present class, or the last release that had it, with brackets if it is a function.
    """

    kind: str
    value: str


class Removed:
    """The table, for one release.

    Args:
        release: the installed release, as numbers.
        fixes: the id of the fix by kind of row; rows of other kinds are ignored.
        path: the path of the table.

    Attributes:
        fixes: as given.
        modules: the modules that lack names; removed modules have `GONE` after their names.
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
        self._starred: dict[int, dict[str, Any]] = {}  # what a module got by star-imports, by the id of its globals
        self._changed: list[tuple[types.ModuleType, type, type]] = []
        if fixes:
            restoring.prepare()
        with path.open(encoding="utf-8") as file:
            groups = (group.split() for group in file.readline().split(";"))
            self.modules = frozenset(
                f"{PACKAGE}.{name}".rstrip(".")
                for first, *names in filter(None, groups)
                if numbers(first) <= release
                for name in names
            )
        if "alias" in fixes and any(module.endswith(GONE) for module in self.modules):
            restoring.MODULES.listen(self.module, fixes["alias"])

    def put(self, module: types.ModuleType) -> None:
        """Make a module supply the names that it lacks, if the table has any."""
        base = type(module)
        if module.__name__ not in self.modules or base in self._classes.values():
            return
        kind = self._classes.get(base) or self._classes.setdefault(base, _class_for(base, self))
        try:
            module.__class__ = kind
        except TypeError:  # its class cannot be changed: its names stay removed
            return
        self._changed.append((module, base, kind))

    def clear(self) -> None:
        """Restore the old classes of the modules, unless they were changed since."""
        for module, base, kind in reversed(self._changed):
            if type(module) is kind:
                module.__class__ = base
            else:  # another class of ours above it, which is removed with its last name
                above = restoring.class_of(module)
                if above is not None and vars(above)[restoring.BASE] is kind:
                    setattr(above, restoring.BASE, base)
                    above.__bases__ = (base,)
        self._changed.clear()
        for name in list(self._values):
            restoring.forget(":".join(name))
        self._values.clear()
        restoring.MODULES.unlisten(self.module)

    def answer(self, module: types.ModuleType, name: str, frame: Optional[types.FrameType]) -> Any:
        """The value that a program gets for a name that a module lacks.

        Args:
            module: the module.
            name: the name.
            frame: the frame that uses the name; None under torch.compile, where the check is skipped.

        Raises:
            LookupError: the name is not restored.
        """
        row = self._row(module, name)
        if frame is not None and not restoring.would_end(AttributeError, frame, name):
            raise LookupError(name)
        return self._given(module, name, row, frame)

    def star(self, module: types.ModuleType, frame: types.FrameType) -> None:
        """Give a module that imports all names of another one those that it would fail without.

        Nothing if it can be imported without them: a name that only a function reads may be one that another module
        defines, or that a handler expects to be missing.

        Args:
            module: the imported module.
            frame: the frame that executes the importing module.
        """
        space, target = vars(module), frame.f_globals
        listed = space.get("__all__", space)
        given = self._starred.setdefault(id(target), {})
        for name in [name for name, value in given.items() if target.get(name) is not value]:
            del given[name]
        names, surely_read = restoring.left_open(frame, given)
        names = [name for name in names if not name.startswith("_") and name not in listed]
        if not given and not any(self._has(module, name) for name in names if name in surely_read):
            return  # the file can be imported as it is: what it lacks in functions may be meant
        for name in names:
            try:
                target[name] = given[name] = self._unlisted(module, name, frame)
            except Exception:  # whatever it raises, the program gets Python's own error
                continue

    def _has(self, module: types.ModuleType, name: str) -> bool:
        """Whether there is anything to give for a name that a star-import leaves out."""
        if name in vars(module) or restoring.descriptor_of(module, name) is not None:
            return True
        try:
            self._row(module, name)
        except LookupError:
            return False
        return True

    def _unlisted(self, module: types.ModuleType, name: str, frame: types.FrameType) -> Any:
        """The value of a name that a star-import leaves out.

        Raises:
            LookupError: the module has no such name, and has never had it.
        """
        if name in vars(module):
            restoring.note(f"{module.__name__}:{name}", self.fixes["star"], frame)
            return vars(module)[name]
        restored = restoring.descriptor_of(module, name)
        if restored is not None:
            restored.give(frame)
            return restored.value if restored.find is None else restored.find()
        return self._given(module, name, self._row(module, name), frame)

    def _row(self, module: types.ModuleType, name: str) -> Row:
        """The row for a name of a module.

        Raises:
            LookupError: there is none, or its kind is not restored.
        """
        row = self.rows(module.__name__).get(name)
        if row is None and name in PASSED_ON and "__path__" not in vars(module):
            row = Row("star", PASSED_ON[name])
        if row is None or row.kind not in self.fixes:
            raise LookupError(name)
        return row

    def _given(self, module: types.ModuleType, name: str, row: Row, frame: Optional[types.FrameType]) -> Any:
        """The replacement in a row, which the program receives now."""
        is_first = (module.__name__, name) not in self._values
        value = self.value(module.__name__, name, row)
        if row.kind == "empty" and is_first and frame is not None:
            _warn(name, row.value.rstrip("()"), frame)
        restoring.note(f"{module.__name__}:{name}", self.fixes[row.kind], frame)
        return value

    def module(self, name: str) -> Optional[types.ModuleType]:
        """A module that the release lacks as a whole; None if it is not in the table."""
        if not name.startswith(f"{PACKAGE}.") or f"{name}{GONE}" not in self.modules:
            return None
        key = name, ""
        if key not in self._values:
            from importlib.machinery import ModuleSpec

            made = types.ModuleType(name, "Restored by hotfix: each name refers to its current object.")
            made.__spec__ = ModuleSpec(name, None, origin="hotfix")
            if any(module.startswith(f"{name}.") for module in self.modules):
                made.__path__ = []
            made.__package__ = name if hasattr(made, "__path__") else name.rpartition(".")[0]
            kind = self._classes.get(types.ModuleType)
            kind = kind or self._classes.setdefault(types.ModuleType, _class_for(types.ModuleType, self))
            made.__class__ = kind
            self._values[key] = made
        return self._values[key]  # type: ignore[no-any-return]

    def rows(self, module: str) -> Mapping[str, Row]:
        """The rows of a module that apply to this release, by name."""
        if module not in self._rows:
            self._rows[module] = dict(self._read(module))
        return self._rows[module]

    def value(self, module: str, name: str, row: Row) -> Any:
        """The replacement in a row; the same object each time.

        Raises:
            LookupError: the replacement is missing.
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
        if row.kind == "empty":
            return empty(name, module, row.value.rstrip("()"), is_function=row.value.endswith("()"))
        if row.kind == "output":
            base, *fields = row.value.split()
            return output(name, module, self._object(*base.split(":")), fields)
        where, _, what = row.value.rpartition(":") if row.kind in ("alias", "star") else (module, "", row.value)
        value = self._object(where, what)
        return hollow(name, module, value) if row.kind == "hollow" else value

    def _object(self, module: str, name: str) -> Any:
        try:
            home = import_module(module)
            return getattr(home, name) if name else home
        except Exception as error:  # whatever the import raises, the program gets the release's own error
            raise LookupError(f"{module}:{name}") from error


def kinds(module: str, name: str, releases: Iterable[str], path: Path = FILE) -> dict[str, str]:
    """The kind of the row for a name, by release; releases without a row are left out.

    Args:
        module: the module that lacks the name.
        name: the name; an empty string for a removed module itself.
        releases: the releases to look up.
        path: the path of the table.
    """
    text = _text_of(path)
    if name:
        spans = [(numbers(first), row.kind) for given, first, row in _rows_in(text, module) if given == name]
    else:
        groups = (group.split() for group in text.partition("\n")[0].split(";"))
        short = f"{module.partition('.')[2]}{GONE}"
        spans = [(numbers(first), "alias") for first, *names in filter(None, groups) if short in names]
    kinds_by_name = {}
    for release in releases:
        held = [kind for first, kind in spans if first <= numbers(release)]
        if held and held[-1] != NOTHING:
            kinds_by_name[release] = held[-1]
    return kinds_by_name


@lru_cache(maxsize=1)
def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _rows_in(text: str, module: str) -> Iterator[tuple[str, str, Row]]:
    """The rows of a module: name, first release, replacement."""
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
    """The replacement of a name no longer exists; see `hotfix.names.refusing.Gone`."""


def hollow(name: str, module: str, now: type) -> type:
    """A class that can be named and inherited from, but neither instantiated nor changed.

    Same as in `hotfix.names.attention_classes`, which may not be imported in the program's own calls.

    Args:
        name: the name of the class.
        module: the module that it belongs to.
        now: the present class, which serves every kind of attention.
    """
    why = (
        f"This release of transformers no longer has {name}, and hotfix restores only the name: no layer is one. "
        f"{now.__name__} is the class for every kind of attention; to change it, use transformers.AttentionInterface."
    )

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise Gone(why)

    class Unpatched(type(now)):  # type: ignore[misc]  # the metaclass is known at run time only
        """The metaclass of such a class; a class that inherits from it may be changed."""

        def __setattr__(cls, attribute: str, value: Any) -> None:
            if cls is made and attribute not in ("__module__", "__qualname__", "__doc__"):
                raise Gone(f"{name}.{attribute} cannot be set, because that would have no effect. {why}")
            super().__setattr__(attribute, value)

    made: type = Unpatched(name, (now,), {"__init__": refuse, "__module__": module, "__doc__": why})
    return made


def empty(name: str, module: str, last: str, is_function: bool = False) -> Any:
    """A class that can be named and inherited from, but neither used nor changed: nothing in the release is one.

    Args:
        name: the name of the class.
        module: the module that it belonged to.
        last: the last release that had it.
        is_function: whether it is a function, which can be named but not called.
    """
    from abc import ABCMeta

    why = (
        f"This release of transformers no longer has {name}, and hotfix restores only the name. The last release "
        f"that had it is {last}."
    )

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise Gone(why)

    if is_function:
        return types.FunctionType(refuse.__code__, refuse.__globals__, name, None, refuse.__closure__)

    class Unusable(ABCMeta):
        """The metaclass of such a class; a class that inherits from it may be changed."""

        def __getattr__(cls, attribute: str) -> Any:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            raise Gone(f"{cls.__name__}.{attribute} does not exist. {why}")

        def __setattr__(cls, attribute: str, value: Any) -> None:
            if not attribute.startswith("_") and cls is made:  # ABCMeta sets some before there is a class
                raise Gone(f"{name}.{attribute} cannot be set, because that would have no effect. {why}")
            super().__setattr__(attribute, value)

    made: type = Unusable(name, (), {"__init__": refuse, "__module__": module, "__doc__": why})
    return made


def _warn(name: str, last: str, frame: types.FrameType) -> None:
    """Warn the program when it gets a name that it cannot use, not only when it uses it."""
    import warnings

    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith(("importlib.", "hotfix.")):
        frame = frame.f_back
    message = f"hotfix gives the name {name} only: transformers {last} was the last with it, and using it is an error"
    warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno)


def output(name: str, module: str, base: type, fields: Iterable[str]) -> type:
    """A class of results, with the fields that it had; all of them are None by default.

    Args:
        name: the name of the class.
        module: the module that it belonged to.
        base: the class that it inherits from.
        fields: the names of its own fields.
    """
    import dataclasses

    own = [(field, Any, dataclasses.field(default=None)) for field in fields]
    return dataclasses.make_dataclass(name, own, bases=(base,), namespace={"__module__": module})


def _class_for(base: type, table: Removed) -> type:
    """The class for modules that use the table; it derives from `base`."""
    inherited = getattr(base, "__getattr__", None)

    def __getattr__(self: Any, name: str) -> Any:  # noqa: N807 - its name  # pragma: no mutate block
        try:
            own = vars(self).get("__getattr__")
            if own is not None:
                own(name)  # it has raised this error before, and Python has discarded it
            if inherited is None:
                raise restoring.missing(self, type(self), name)
            return inherited(self, name)
        except AttributeError as error:
            if name.startswith("__"):
                raise
            frame: Optional[types.FrameType] = None
            if not compiling.is_compiling():
                frame = sys._getframe(1)
                while frame is not None and str(frame.f_globals.get("__name__")).startswith("hotfix.patching."):
                    frame = frame.f_back
            try:
                return table.answer(self, name, frame)
            except LookupError:
                pass
            raise error from None

    members = {"__getattr__": __getattr__, "__module__": restoring.home_of(base), "__qualname__": base.__qualname__}
    listed = {"__all__": _Listed(table)} if base is types.ModuleType and "star" in table.fixes else {}
    return type(base.__name__, (base,), {**members, **listed, "__reduce__": _reduce(base)})


class _Listed:
    """The ``__all__`` of a module, which a star-import reads."""

    def __init__(self, table: Removed) -> None:
        self._table = table

    def __get__(self, module: Any, owner: type) -> Any:  # pragma: no mutate block
        if module is None:
            return self
        if not compiling.is_compiling():
            frame = sys._getframe(1)
            if restoring.imports_all(frame):
                self._table.star(module, frame)
        if "__all__" not in vars(module):
            raise restoring.missing(module, owner, "__all__")
        return vars(module)["__all__"]

    def __set__(self, module: Any, value: Any) -> None:
        vars(module)["__all__"] = value

    def __delete__(self, module: Any) -> None:
        if "__all__" not in vars(module):
            raise restoring.missing(module, type(module), "__all__")
        del vars(module)["__all__"]


def _reduce(base: type) -> Any:
    """Pickle such a module as its original class does."""

    def reduce(self: Any) -> Any:
        if base is types.ModuleType:
            return import_module, (self.__name__,)
        kind: Any = base
        made = kind.__reduce__(self)
        return (base, *made[1:]) if isinstance(made, tuple) and made[0] is type(self) else made

    return reduce
