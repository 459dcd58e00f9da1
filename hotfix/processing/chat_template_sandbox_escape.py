"""A chat template, which comes with a model from elsewhere, reaches more than the text that it is to be made of.

Symptom   None. A template that means harm can call the methods of the images, arrays and other objects that are in the
          messages, some of which write files, and get at the insides of what the sandbox hands it.
Cause     The sandbox knows the dangers of Python's own objects only; messages are handed to it as they are, and so are
          the class ``dict`` and a namespace that takes any name.
Releases  4.36.0 to 5.22.1
Upstream  fixed in 5.22.2
Here      As there, a template cannot call anything of the objects in the messages: dictionaries, lists, texts, numbers
          and dates are rebuilt as such, and any other object is wrapped. A wrapped object can be printed, compared,
          counted, iterated and indexed, and its data attributes can be read, so that messages in an array, a named
          tuple, a dataclass or a class of your own give the text that they give without hotfix. ``dict`` makes
          dictionaries and no more, and a namespace takes no name that begins with an underscore. What the program
          itself passes to ``apply_chat_template`` by name and can be called stays callable: functions, classes such as
          ``zip``, objects; it gets the program's own objects. A jinja2 before 3.1.6 has holes of its
          own, which 5.22.2 refuses to work with; upgrade jinja2, too.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import types
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="The chat template of a downloaded model can call the methods of objects in the messages, and write files",
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
    """It makes a sandbox, and does not take the class ``dict`` out of it."""
    import ast

    names = {node.id for node in ast.walk(compiles) if isinstance(node, ast.Name)}
    keys = {node.value for node in ast.walk(compiles) if isinstance(node, ast.Constant)}
    return "ImmutableSandboxedEnvironment" in names and "jinja_env" in names and "namespace" not in keys


def guard(environment: Any) -> None:
    """Keep the templates of an environment to plain data.

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
    """What a template may do with ``dict``."""

    def __call__(self, *given: Any, **named: Any) -> dict[Any, Any]:
        return dict(*given, **named)

    def fromkeys(self, keys: Any, value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


def _for_template(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables of a template. What can be called and is passed by name, the program means to be called."""
    known: dict[int, Any] = {}
    return {
        name: _Callable(value, known) if callable(value) and not isinstance(value, _DATA) else plain(value, known)
        for name, value in variables.items()
    }


def plain(value: Any, known: Optional[dict[int, Any]] = None) -> Any:
    """The same value without methods that reach further than text: what a template may have of it.

    Args:
        value: a message, or a part of one.
        known: what was made of other parts, by their identity; an object that occurs twice stays one object.

    Returns:
        Dictionaries, lists, tuples, sets, texts, numbers and dates as such; a `_View` of anything else.
    """
    known = {} if known is None else known
    if value is None or type(value) in _SAFE or isinstance(value, enum.Enum):
        return value
    if id(value) in known:
        return known[id(value)][1]
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        if kind is not list:
            made = kind(plain(part, known) for part in value)
        else:
            known[id(value)] = value, (made := [])
            made += [plain(part, known) for part in value]
    elif isinstance(value, datetime.date):
        made = _date(value)
    elif isinstance(value, Mapping):
        made = _empty_mapping(value, known)
        known[id(value)] = value, made
        made.update((plain(key, known), plain(part, known)) for key, part in value.items())
    elif isinstance(value, str):
        made = _Text(str.__str__(value)).standing_for(value, known)
    elif isinstance(value, float):
        made = _Float(float.__float__(value)).standing_for(value, known)
    elif isinstance(value, int):
        made = _Int(int.__int__(value)).standing_for(value, known)
    elif isinstance(value, list) and kind.__iter__ is list.__iter__:
        made = _List().standing_for(value, known)
        known[id(value)] = value, made
        made += [plain(part, known) for part in list.__iter__(value)]
    elif kind.__module__ == "numpy" and getattr(value, "shape", None) == () and kind.__name__.startswith(_NUMBERS):
        number = value.item()
        made = (_Float if isinstance(number, float) else _Int)(number).standing_for(value, known)
    else:
        made = _View(value, known)
    known[id(value)] = value, made  # the value is kept, or another object could get its identity
    return made


def _date(value: Any) -> Any:
    """A date, or a date with a time, of Python's own class."""
    if not isinstance(value, datetime.datetime):
        return datetime.date(value.year, value.month, value.day)
    day = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    return datetime.datetime(*day, tzinfo=value.tzinfo, fold=value.fold)


def _empty_mapping(value: Any, known: dict[int, Any]) -> Any:
    """A dictionary of the kind of a mapping, if the kind is one of Python's own."""
    if type(value) is collections.defaultdict:
        return collections.defaultdict(value.default_factory)
    if type(value) is collections.OrderedDict:
        return collections.OrderedDict()
    return {} if type(value) is dict else _Dictionary().standing_for(value, known)


def _data_of(value: Any, name: str, known: dict[int, Any]) -> Any:
    """A data attribute of an object of the program's.

    Raises:
        AttributeError: it has none of this name, or one that can be called.
    """
    if isinstance(value, (type, types.ModuleType)) or name.startswith("_"):
        raise AttributeError(name)
    found = getattr(value, name)
    if callable(found) or isinstance(found, (type, types.ModuleType)):
        raise AttributeError(f"a chat template cannot call {type(value).__name__}.{name}")
    return plain(found, known)


class _Shown:
    """Prints as another object does, and has its data: a text of the program's own class, a number of numpy."""

    _value: Any
    _known: dict[int, Any]

    def standing_for(self, value: Any, known: dict[int, Any]) -> Any:
        """The same, for `value`."""
        self._value = value
        self._known = known
        return self

    def __getattr__(self, name: str) -> Any:
        return _data_of(self._value, name, self._known)

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)


class _Text(_Shown, str):
    pass


class _Float(_Shown, float):
    pass


class _Int(_Shown, int):
    pass


class _List(_Shown, list):  # type: ignore[type-arg]
    pass


class _Dictionary(_Shown, dict):  # type: ignore[type-arg]
    def __missing__(self, key: Any) -> Any:
        return plain(self._value[_raw(key)], self._known)


class _View:
    """What a template may do with an object: print, compare, count, iterate and index it, and read its data.

    Args:
        value: the object.
        known: as in `plain`.

    Methods, functions, classes and modules cannot be reached through it.
    """

    __slots__ = ("_known", "_value")

    def __init__(self, value: Any, known: dict[int, Any]) -> None:
        self._value = value
        self._known = known

    def _part(self, value: Any) -> Any:
        return plain(value, self._known)

    def __getattr__(self, name: str) -> Any:
        return _data_of(self._value, name, self._known)

    def __getitem__(self, key: Any) -> Any:
        return self._part(self._value[_raw(key)])

    def __iter__(self) -> Iterator[Any]:
        return map(self._part, iter(self._value))

    def __len__(self) -> int:
        return len(self._value)

    def __contains__(self, part: Any) -> bool:
        return _raw(part) in self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)

    def __eq__(self, other: object) -> bool:
        return bool(self._value == _raw(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self._value < _raw(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self._value > _raw(other))

    def __le__(self, other: Any) -> bool:
        return bool(self._value <= _raw(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self._value >= _raw(other))

    def __add__(self, other: Any) -> Any:
        return self._part(self._value + _raw(other))

    def __sub__(self, other: Any) -> Any:
        return self._part(self._value - _raw(other))

    def __mul__(self, other: Any) -> Any:
        return self._part(self._value * _raw(other))

    def __truediv__(self, other: Any) -> Any:
        return self._part(self._value / _raw(other))

    def __neg__(self) -> Any:
        return self._part(-self._value)

    def __hash__(self) -> int:
        return hash(self._value)


class _Callable(_View):
    """What the program passes by name to be called: a function, a class, an object. It gets the program's own objects.

    What it returns is handed to the template as everything else is.
    """

    __slots__ = ()

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._part(self._value(*map(_raw, given), **{name: _raw(value) for name, value in named.items()}))


def _raw(value: Any) -> Any:
    return value._value if isinstance(value, (_View, _Shown)) else value


_SAFE = frozenset(
    (
        *(str, int, float, bool, complex, bytes, range),
        *(datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID),
    )
)
_NUMBERS = ("int", "uint", "float")
_DATA = (str, int, float, list, tuple, Mapping)
