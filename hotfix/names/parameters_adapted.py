"""The table of parameters that calls may omit, ``parameters.txt``; ``tools/signatures.py`` writes it from the wheels.

A row is one of two kinds. A *removed* parameter: a caller may still pass it. A *newer* parameter: the library passes it
to a method that a subclass overrides::

    removed trainer:Trainer._save_checkpoint >=4.47.0 metrics 2 None
    newer trainer:Trainer.log >=4.47.0 start_time 1 None trainer:Trainer._maybe_log_save_evaluate self 1

Both have the function, the releases, the parameter, its position without ``self`` (``*``: by name only), and the values
that change nothing if they are omitted: a literal or several (``None|{}``), ``*`` for every value, or ``@name`` for
None and the device of the argument ``name``. A further ``2=None`` demands that the argument at this position is None. A
newer parameter also has the function of the library with the call, the object with the method, and the number of
statements with such calls.

Only an argument that the called function cannot take is omitted, so that the call would raise a TypeError.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional

from packaging.version import Version

from hotfix._support.memo import weakly
from hotfix.names import overrides
from hotfix.patching import scope
from hotfix.patching.decorated import passes_everything_on

FILE = Path(__file__).with_name("parameters.txt")
PACKAGE = "transformers"


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        kind: ``removed`` or ``newer``.
        function: ``module:qualname`` in transformers, with the parameter or without it any more.
        releases: a specifier.
        parameter: the name.
        place: the position without ``self``; None if it is given by name only.
        value: the values that may be omitted.
        beside: an argument that must be None, as ``2=None``; empty for none.
        site, owner, count: for a newer parameter, the function with the call, the object with the method, and the
            number of statements.
    """

    kind: str
    function: str
    releases: str
    parameter: str
    place: Optional[int]
    value: str
    beside: str = ""
    site: str = ""
    owner: str = ""
    count: int = 0  # type: ignore[assignment]  # the method of a tuple, which nothing calls here

    @property
    def method(self) -> str:
        """The name of the function alone."""
        return self.function.rpartition(":")[2].rpartition(".")[2]

    def __str__(self) -> str:
        place = "*" if self.place is None else self.place
        parts = [self.kind, self.function, self.releases, self.parameter, place, self.value, self.beside]
        parts += [self.site, self.owner, self.count or ""]
        return " ".join(str(part) for part in parts if part != "")


def rows(kind: str, path: Path = FILE) -> list[Row]:
    """The rows of a kind."""
    return [row for row in map(row_of, path.read_text(encoding="utf-8").splitlines()) if row.kind == kind]


def row_of(line: str) -> Row:
    """A row from its line."""
    kind, function, releases, parameter, place, value, *more = line.split(" ")
    beside = more.pop(0) if more and "=" in more[0] else ""
    site, owner, count = more or ("", "", "0")
    position = None if place == "*" else int(place)
    if not value.startswith(("*", "@")):
        _literals(value)
    return Row(kind, function, releases, parameter, position, value, beside, site, owner, int(count))


def joined(specifiers: Iterable[str]) -> str:
    """A specifier for releases that follow each other, from specifiers with a first release and maybe an end."""
    ends = [specifier.removeprefix(">=").partition(",<") for specifier in specifiers]
    first = min((begin for begin, _, _ in ends), key=Version)
    end = "" if any(not end for _, _, end in ends) else max((end for _, _, end in ends), key=Version)
    return f">={first},<{end}" if end else f">={first}"


# ---------------------------------------------------------------------------------------------------------------------
# Below: a caller passes a removed parameter.


def without(known: Sequence[Row], fix: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A wrapper for a function that has lost parameters.

    Args:
        known: their rows.
        fix: the id of the fix.
    """

    def decorate(original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)
        names = positional_names(signature)
        capacity = len(names)
        bound = int(names[:1] in (["self"], ["cls"]))
        takes_any = has_kind(signature, _ANY_NAME)
        by_name = {row.parameter: row for row in known if row.parameter not in signature.parameters and not takes_any}
        by_place = {row.place + bound: row for row in by_name.values() if row.place is not None}

        def call(*args: Any, **kwargs: Any) -> Any:
            if len(args) <= capacity:
                for name in kwargs:
                    if name in by_name:
                        break
                else:
                    return original(*args, **kwargs)
            return adapted(args, kwargs)

        def adapted(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            extra = {place: args[place] for place in range(capacity, len(args))}
            gone = [(by_name[name], kwargs[name]) for name in kwargs if name in by_name]
            gone += [(by_place[place], extra[place]) for place in extra if place in by_place]
            kept = {name: value for name, value in kwargs.items() if name not in by_name}
            given = {**dict(zip(names, args)), **kept}
            fits = len(gone) == len({row.parameter for row, _ in gone}) and all(place in by_place for place in extra)
            if fits and (scope._is_compiling() or binds(signature, args[:capacity], kept)):
                wrong = [(row, value) for row, value in gone if not is_neutral(row, value, given, args, bound)]
                if wrong:
                    return _with_note(original, args, kwargs, wrong, "has no effect in this release")
                if scope._is_compiling() or not scope.is_handled(fix, TypeError, sys._getframe(2)):
                    return original(*args[:capacity], **kept)
            return original(*args, **kwargs)

        return call

    return decorate


def is_neutral(row: Row, value: Any, given: dict[str, Any], args: Sequence[Any], bound: int) -> bool:
    """Whether the release does without an argument what it did with it.

    Args:
        row: the parameter.
        value: the argument.
        given: the other arguments by name.
        args: the arguments by position.
        bound: 1 if the first of them is ``self``.
    """
    if row.beside:
        place = int(row.beside.partition("=")[0]) + bound
        if len(args) <= place or args[place] is not None:
            return False
    if row.value == "*":
        return True
    if row.value.startswith("@"):
        return value is None or value == _device_of(given.get(row.value[1:]))
    return any(type(value) is type(neutral) and bool(value == neutral) for neutral in _literals(row.value))


def _device_of(thing: Any) -> Any:
    """The device of a model or a tensor; an empty text if it has none."""
    try:
        return getattr(thing, "device", "")
    except StopIteration:  # a model without parameters
        return ""


def _literals(text: str) -> list[Any]:
    """The literals of a value. They are parsed when a row is read: torch.compile cannot trace that."""
    if text not in _LITERALS:
        _LITERALS[text] = [ast.literal_eval(part) for part in text.split("|")]
    return _LITERALS[text]


_LITERALS: dict[str, list[Any]] = {}


# ---------------------------------------------------------------------------------------------------------------------
# Below: the library passes a newer parameter to an override.


def lacks(owner: Any, *hooks: str) -> bool:
    """Whether methods of an object cannot be given what the library passes, and the program would crash at that.

    Args:
        owner: the object.
        hooks: the names of the methods.
    """
    if not any(_lacks(getattr(owner, hook, None), hook) for hook in hooks):
        return False
    return overrides.would_end(TypeError)


def by_signature(owner: Any, hook: str) -> Callable[..., Any]:
    """A function that calls a method without the arguments that it does not take, if omitting them changes nothing.

    Args:
        owner: the object with the method.
        hook: the name of the method.
    """
    method = getattr(owner, hook)
    if not _lacks(method, hook):
        return method  # type: ignore[no-any-return]
    return functools.partial(_called, owner, hook, method)


def _called(owner: Any, hook: str, method: Any, /, *args: Any, **kwargs: Any) -> Any:
    known, signature = _newer()[hook], _signature(method)
    names = positional_names(signature)
    extra = [] if has_kind(signature, inspect.Parameter.VAR_POSITIONAL) else list(range(len(names), len(args)))
    by_place = {row.place: row for row in known.values()}
    gone = [(by_place[place], args[place]) for place in extra if place in by_place]
    takes_any = has_kind(signature, _ANY_NAME)
    late = [name for name in kwargs if name in known and name not in signature.parameters and not takes_any]
    gone += [(known[name], kwargs[name]) for name in late]
    kept = {name: value for name, value in kwargs.items() if name not in late}
    first = args[: len(args) - len(extra)]
    fits = len(gone) == len(extra) + len(late) and (not extra or _base_names(owner, hook)[: len(names)] == names)
    if not fits or not binds(signature, first, kept):
        return method(*args, **kwargs)
    wrong = [(row, value) for row, value in gone if not is_neutral(row, value, {}, args, 0)]
    if wrong:
        return _with_note(method, args, kwargs, wrong, "is not known to this method")
    return method(*first, **kept)


@functools.cache
def _newer() -> dict[str, dict[str, Row]]:
    """The rows of newer parameters, by method and parameter."""
    results: dict[str, dict[str, Row]] = {}
    for row in rows("newer"):
        results.setdefault(row.method, {})[row.parameter] = row
    return results


def _lacks(method: Any, hook: str) -> bool:
    """Whether a method is not the library's, and cannot be given one of the newer arguments."""
    if method is None:
        return False
    try:
        return _function_lacks(getattr(method, "__func__", method), hook, hasattr(method, "__self__"))
    except (TypeError, ValueError):  # not hashable, or without a signature
        return False


@weakly
def _function_lacks(function: Any, hook: str, bound: bool) -> bool:
    if is_of_the_library(_innermost(function)):
        return False
    signature = _signature_of(function, bound)
    takes_any = [has_kind(signature, kind) for kind in (inspect.Parameter.VAR_POSITIONAL, _ANY_NAME)]
    return not all(takes_any) and any(name not in signature.parameters for name in _newer()[hook])


def is_of_the_library(function: Any) -> bool:
    """Whether a function was written in transformers; ``functools.wraps`` copies the name of a module."""
    return str(getattr(function, "__globals__", {}).get("__name__")).partition(".")[0] == PACKAGE


def _signature(method: Any) -> inspect.Signature:
    return _signature_of(getattr(method, "__func__", method), hasattr(method, "__self__"))


def _signature_of(function: Any, bound: bool) -> inspect.Signature:
    """The signature that decides whether a call fits, without ``self``: below decorators that pass everything on."""
    inner = _innermost(function)
    signature = inspect.signature(inner, follow_wrapped=False)
    parameters = list(signature.parameters.values())
    if bound and parameters and parameters[0].kind in _POSITIONAL:
        parameters = parameters[1:]
    return signature.replace(parameters=parameters)


def _innermost(function: Any) -> Any:
    """The function below wrappers that pass on all their arguments as they are."""
    function = overrides.below_wrappers(function)
    while hasattr(function, "__wrapped__") and passes_everything_on(function):
        function = function.__wrapped__
    return function


def _base_names(owner: Any, hook: str) -> list[str]:
    """The positional parameters of the library's own method; empty if it has none."""
    for kind in (owner if isinstance(owner, type) else type(owner)).__mro__:
        own = vars(kind).get(hook)
        if own is not None and kind.__module__.partition(".")[0] == PACKAGE:
            function = getattr(own, "__func__", own)
            return positional_names(_signature_of(function, not isinstance(own, staticmethod)))
    return []


# ---------------------------------------------------------------------------------------------------------------------
# Below: the calls in a function of the library, as syntax.


def simple_statements(function: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a function that contain no others, in the order of the source."""
    for field in ("body", "orelse", "handlers", "finalbody"):
        for statement in getattr(function, field, ()):
            if isinstance(statement, _SIMPLE):
                yield statement
            elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from simple_statements(statement)


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)


def passes(statement: ast.AST, known: Sequence[Row]) -> list[ast.Call]:
    """The calls in a statement that pass a newer parameter.

    Args:
        statement: the statement.
        known: the rows of the function that has it.
    """
    return [node for node in ast.walk(statement) if any(is_passed(node, row) for row in known)]  # type: ignore[misc]


def is_passed(node: ast.AST, row: Row) -> bool:
    """Whether a node is a call that passes the parameter of a row."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != row.method:
        return False
    if ast.unparse(node.func.value) != row.owner:
        return False
    if any(pair.arg == row.parameter for pair in node.keywords):
        return True
    return row.place is not None and len(node.args) > row.place and not any(map(_is_starred, node.args))


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


# ---------------------------------------------------------------------------------------------------------------------

_ANY_NAME = inspect.Parameter.VAR_KEYWORD
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def positional_names(signature: inspect.Signature) -> list[str]:
    """The parameters that can be given by position."""
    return [name for name, parameter in signature.parameters.items() if parameter.kind in _POSITIONAL]


def has_kind(signature: inspect.Signature, kind: Any) -> bool:
    """Whether a signature has a parameter of a kind, such as ``**kwargs``."""
    return any(parameter.kind is kind for parameter in signature.parameters.values())


def binds(signature: inspect.Signature, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a call with these arguments fits."""
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _with_note(function: Callable[..., Any], args: Any, kwargs: Any, wrong: Sequence[tuple[Row, Any]], why: str) -> Any:
    """Call a function that raises a TypeError, and add a note to it."""
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        if hasattr(error, "add_note"):
            for row, value in wrong:
                kind = type(value).__name__
                error.add_note(f"hotfix: {row.parameter} {why}; it is omitted for {row.value}, not for this {kind}")
        raise
