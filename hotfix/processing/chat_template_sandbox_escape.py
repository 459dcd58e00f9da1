"""The chat template of a downloaded model can call methods of the objects in the messages.

Symptom   None. A malicious template can call methods of images, arrays and other objects in the messages, some of which
          write files, and reach the internals of the sandbox's own objects.
Cause     The sandbox restricts only Python's own objects. It gets the messages as they are, the class ``dict``, and a
          namespace that takes any name.
Releases  4.36.0 to 5.22.1
Upstream  fixed in 5.22.2
Here      As there, a template cannot call methods of the objects in the messages. Dictionaries, lists, texts, numbers
          and dates are copied, and any other object is wrapped. It keeps the operators of its class and its data
          attributes, and a mapping its ``get``, ``items``, ``keys`` and ``values``. So messages in an array, a named
          tuple, a dataclass or a class of your own, numbers of numpy and dates of pandas give the same text as without
          hotfix. ``dict`` only builds dictionaries, and a namespace takes no name that begins with an underscore.
          Callables that the program passes to ``apply_chat_template`` by name stay callable: functions, classes such
          as ``zip``, objects. They get the program's own objects, and the template sees their changes. A jinja2 before
          3.1.6 has its own security holes, and 5.22.2 refuses it; upgrade jinja2, too.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import numbers
import types
import uuid
from collections.abc import Mapping
from operator import index, is_
from typing import Any, Optional
from weakref import WeakKeyDictionary

from hotfix.fix import Fix

FIX = Fix(
    title="Security: a chat template can escape the jinja2 sandbox and call methods of objects in the messages",
    kind="security",
    fixed_in="5.22.2",
    everyone="any template that comes with a model can be hostile; ordinary templates give the same text",
)

FIX.edits(
    ("transformers.tokenization_utils_base:PreTrainedTokenizerBase._compile_jinja_template", ">=4.36.0,<=4.44.2"),
    ("transformers.utils.chat_template_utils:_compile_jinja_template", ">=4.45.0,<=5.2.0"),
    ("transformers.utils.chat_template_utils:_cached_compile_jinja_template", ">=5.3.0,<=5.22.1"),
    old="jinja_env = ImmutableSandboxedEnvironment(**__REST)",
    new=f"""
        jinja_env = ImmutableSandboxedEnvironment(**__REST)
        from {__name__} import guard
        guard(jinja_env)
    """,
)


@FIX.recognises
def is_broken(compiles: Any) -> bool:
    """Whether it builds a sandbox and leaves the class ``dict`` in it."""
    import ast

    names = {node.id for node in ast.walk(compiles) if isinstance(node, ast.Name)}
    keys = {node.value for node in ast.walk(compiles) if isinstance(node, ast.Constant)}
    return "ImmutableSandboxedEnvironment" in names and "jinja_env" in names and "namespace" not in keys


def guard(environment: Any) -> None:
    """Restrict the templates of an environment to plain data.

    Args:
        environment: a `jinja2.sandbox.ImmutableSandboxedEnvironment` that has no templates yet.
    """
    import jinja2

    class Namespace(jinja2.utils.Namespace):  # type: ignore[misc]
        def __init__(*given: Any, **named: Any) -> None:  # a template may call something ``self``
            attributes = dict(*given[1:], **named)
            for name in attributes:
                _allow(name)
            jinja2.utils.Namespace.__init__(given[0], attributes)

        def __setitem__(self, name: str, value: Any) -> None:
            _allow(name)
            super().__setitem__(name, value)

    class Template(environment.template_class):  # type: ignore[misc]
        def render(self, *given: Any, **named: Any) -> Any:
            return super().render(_for_template(dict(*given, **named)))

        def generate(self, *given: Any, **named: Any) -> Any:
            return super().generate(_for_template(dict(*given, **named)))

    def _allow(name: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a chat template may not call an attribute of a namespace {name!r}")

    environment.globals.update(dict=_Dictionaries(), namespace=Namespace)
    environment.template_class = Template


class _Dictionaries:
    """The part of ``dict`` that a template may use."""

    def __call__(self, *given: Any, **named: Any) -> dict[Any, Any]:
        return dict(*given, **named)

    def fromkeys(self, keys: Any, value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


def _for_template(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables of a template. A callable that the program passes by name stays callable."""
    known = _Known()
    return {
        name: _kind_of(value, _Callable)(value, known)
        if callable(value) and not isinstance(value, _DATA)
        else plain(value, known)
        for name, value in variables.items()
    }


class _Known(dict[int, Any]):
    """Results by the identity of the value, and those that have yet to get their parts.

    Parts are filled in by a loop, so that a conversation may be nested deeper than Python calls functions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unfilled: list[tuple[Any, Any]] = []
        self.is_filling = False


def plain(value: Any, known: Optional[_Known] = None) -> Any:
    """The same value without methods, for a template.

    Args:
        value: a message, or a part of one.
        known: results for other parts, by identity; an object that occurs twice stays one object.

    Returns:
        Copies of dictionaries, lists, tuples, sets, texts, numbers and dates. Any other object is wrapped: operators
        work as its class defines them, and its data attributes can be read, but it has no methods. An object whose
        class inherits from one of these types keeps that type.
    """
    known = _Known() if known is None else known
    made = _copied(value, known)
    if not known.is_filling:
        known.is_filling = True
        try:
            while known.unfilled:
                _fill(*known.unfilled.pop(), known)
        finally:
            known.unfilled.clear()
            known.is_filling = False
    return made


def _copied(value: Any, known: _Known) -> Any:
    """As `plain`; lists and dictionaries are empty still."""
    kind = type(value)
    if value is None or kind in _SAFE or isinstance(value, enum.Enum):
        return value
    if id(value) in known:
        return known[id(value)][1]
    if kind in (tuple, set, frozenset):
        parts = [plain(part, known) for part in value]
        if all(map(is_, parts, value)):
            return value  # the copy of a set might have another order
        made = kind(parts)
    elif kind in (list, dict, collections.OrderedDict, collections.defaultdict):
        made = collections.defaultdict(value.default_factory) if kind is collections.defaultdict else kind()
        known.unfilled.append((made, value))
    else:
        made = _wrapped(value, known)
    known[id(value)] = value, made  # the value is kept, or another object could get its identity
    return made


def _fill(made: Any, value: Any, known: _Known) -> None:
    """Give a list or a dictionary the parts of another one."""
    if isinstance(value, dict):
        items = (collections.OrderedDict if isinstance(value, collections.OrderedDict) else dict).items(value)
        made.update([(plain(key, known), plain(part, known)) for key, part in items])
    elif _SAFE.issuperset(map(type, list.__iter__(value))):  # such as half a million samples of a sound
        made += list.__iter__(value)
    else:
        made += [plain(part, known) for part in list.__iter__(value)]


def _wrapped(value: Any, known: _Known) -> Any:
    """A `_View` of an object, which is a text, a number, a date, a list or a dictionary where the object is one."""
    for base, content in _BASES:
        if isinstance(value, base):
            kind = _kind_of(value, base)
            named = {"fold": getattr(value, "fold", 0)} if base is datetime.datetime else {}
            try:
                made = base.__new__(kind, *content(value, known), **named)
            except (TypeError, ValueError):  # a date without a day
                break
            vars(made).update(_value=value, _known=known)
            if base in (list, dict):
                known.unfilled.append((made, value))
            return made
    return _kind_of(value, _Object)(value, known)


def _date(value: Any, known: _Known) -> tuple[Any, ...]:
    return value.year, value.month, value.day


def _time(value: Any, known: _Known) -> tuple[Any, ...]:
    parts = (value.hour, value.minute, value.second, value.microsecond, value.tzinfo)
    return (*_date(value, known), *parts)


_BASES: tuple[tuple[type, Any], ...] = (
    (str, lambda value, known: (str.__str__(value),)),
    (float, lambda value, known: (float.__float__(value),)),
    (int, lambda value, known: (int.__int__(value),)),
    (datetime.datetime, _time),
    (datetime.date, _date),
    (datetime.timedelta, lambda value, known: (value.days, value.seconds, value.microseconds)),
    (list, lambda value, known: ()),
    (dict, lambda value, known: ()),
    (tuple, lambda value, known: ([plain(part, known) for part in tuple.__iter__(value)],)),
)
"""Types that a wrapped object keeps, and the arguments of its constructor."""


def _data_of(value: Any, name: str, known: _Known) -> Any:
    """A data attribute of an object of the program's.

    Raises:
        AttributeError: it has none of this name, or one that can be called.
    """
    if isinstance(value, (type, types.ModuleType)) or name.startswith("_"):
        raise AttributeError(name)
    data = getattr(value, name)
    if callable(data) or isinstance(data, (type, types.ModuleType)):
        raise AttributeError(f"a chat template cannot call {type(value).__name__}.{name}")
    return plain(data, known)


class _View:
    """A wrapped object: a template can use the operators of its class, and read its data.

    Methods, functions, classes and modules are out of reach.
    """

    _value: Any
    _known: _Known

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(type(self), name):  # a method of the type that it keeps has this name
            value = object.__getattribute__(self, "_value")
            data = getattr(value, name)
            if not callable(data) and not isinstance(data, types.ModuleType):
                return plain(data, self._known)
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        return _data_of(self._value, name, self._known)

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)

    def __format__(self, how: str) -> str:
        return format(self._value, how)


class _Object(_View):
    """A `_View` of an object of any other type.

    Args:
        value: the object.
        known: as in `plain`.
    """

    def __init__(self, value: Any, known: _Known) -> None:
        vars(self).update(_value=value, _known=known)


class _Callable(_Object):
    """A callable that the program passes by name: a function, a class, an object. It gets the program's own objects.

    The template gets its result like any other value.
    """

    def __call__(self, *given: Any, **named: Any) -> Any:
        known = self._known
        own = {id(made): value for value, made in known.values()}
        arguments = [own.get(id(part), _raw(part)) for part in given]
        result = self._value(*arguments, **{name: own.get(id(part), _raw(part)) for name, part in named.items()})
        for value, made in list(known.values()):  # the function may have changed them
            if type(value) in (list, dict) and _has_changed(value, made, known):
                made.clear()
                _fill(made, value, known)
        return plain(result, known)


def _has_changed(value: Any, made: Any, known: _Known) -> bool:
    if len(value) != len(made):
        return True
    if isinstance(value, dict):
        return any(made.get(plain(key, known), made) is not plain(part, known) for key, part in value.items())
    return any(copied is not plain(part, known) for copied, part in zip(made, value))


def _raw(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_raw, value))
    return value._value if isinstance(value, _View) else value


# ----------------------------------------------------------------------------------------------------------------------
# Below: operators. A wrapped object has the operators that its class defines, so that tests such as "is it a sequence?"
# give the same result. Operators of a base that the wrapped object also has stay those of the base.

_kinds: WeakKeyDictionary[type, dict[type, type]] = WeakKeyDictionary()


def _kind_of(value: Any, base: type) -> type:
    """The class of the wrapped objects of a class.

    Args:
        value: an object of the class.
        base: a type of `_BASES` that the class inherits from; else `_Object` or `_Callable`.
    """
    kind = type(value)
    made = _kinds.setdefault(kind, {})
    if base not in made:
        known = object if issubclass(base, _View) else base
        bases: list[type] = [base] if known is object else [_View, base]
        if known is object:
            bases += [abstract for abstract in (numbers.Number, Mapping) if issubclass(kind, abstract)]
        own: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        own.update((name, method) for name, method in _OPERATORS.items() if _defines(kind, known, name))
        own["__hash__"] = None if kind.__hash__ is None else _hash
        if known is not object and kind.__repr__ is base.__repr__:
            own["__repr__"] = base.__repr__  # by which `pprint` knows a dictionary
        if "__getitem__" in own and "__iter__" not in own and not _is_iterable(value):
            own.update(dict.fromkeys(("__iter__", "__reversed__")))  # a class with one would be a sequence
        if issubclass(base, _DATES):
            own.update((name, _operator(name)) for name in _OF_DATES if hasattr(base, name))
        if issubclass(kind, Mapping):
            own.update((name, _operator(name)) for name in _OF_MAPPINGS if _defines(kind, known, name))
        made[base] = types.new_class(kind.__name__, tuple(bases), exec_body=lambda namespace: namespace.update(own))
    return made[base]


def _is_iterable(value: Any) -> bool:
    """Whether Python iterates over an object: not over a number of numpy, whose items are for an empty index only."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def _defines(kind: type, base: type, name: str) -> bool:
    """Whether a class has a special method, other than one of its base; every operator of `object` counts."""
    defined = getattr(kind, name, None)
    return defined is not None and (base is object or defined is not getattr(base, name, None))


def _operator(name: str) -> Any:
    """A special method that calls that of the object, and makes its result plain."""

    def operator(self: Any, *given: Any, **named: Any) -> Any:
        arguments = {keyword: _raw(value) for keyword, value in named.items()}
        result = getattr(type(self._value), name)(self._value, *map(_raw, given), **arguments)
        return result if result is NotImplemented else plain(result, self._known)

    return operator


def _conversion(convert: Any) -> Any:
    """A special method that calls Python's own function for it."""
    return lambda self, *given: convert(self._value, *map(_raw, given))


def _over(parts: Any) -> Any:
    """A special method that iterates over the parts of the object."""
    return lambda self: (plain(part, self._known) for part in parts(self._value))


def _hash(self: Any) -> int:
    return hash(self._value)


_COMPUTE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_OPERATORS: dict[str, Any] = {
    **{f"__{name}__": _operator(f"__{name}__") for name in ("eq", "ne", "lt", "le", "gt", "ge", "getitem", "contains")},
    **{f"__{before}{name}__": _operator(f"__{before}{name}__") for name in _COMPUTE for before in ("", "r")},
    **{f"__{name}__": _operator(f"__{name}__") for name in ("neg", "pos", "abs", "round", "html", "missing", "next")},
    **{f"__{convert.__name__}__": _conversion(convert) for convert in (len, bool, int, float, complex)},
    "__index__": _conversion(index),
    "__iter__": _over(iter),
    "__reversed__": _over(reversed),
}
_OF_MAPPINGS = ("get", "items", "keys", "values")
_DATES = (datetime.date, datetime.timedelta)
_OF_DATES = (
    *("__add__", "__radd__", "__sub__", "__rsub__", "astimezone", "ctime", "date", "dst", "isocalendar", "isoformat"),
    *("isoweekday", "replace", "strftime", "time", "timestamp", "timetuple", "timetz", "toordinal", "total_seconds"),
    *("tzname", "utcoffset", "utctimetuple", "weekday"),
)
"""Methods of dates and durations, which write nothing. Those of the object run: it may have more than its copy."""

_SAFE = frozenset(
    (
        *(str, int, float, bool, complex, bytes, range),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID),
    )
)
_DATA = (str, int, float, list, tuple, Mapping)
