"""The two adapters of arguments, on a small library: what is omitted, and what is left as it is."""

from __future__ import annotations

import functools
import inspect
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Callable

import pytest

from hotfix.names import parameters_adapted
from hotfix.names.parameters_adapted import Row, row_of, without

_spec = spec_from_file_location("transformers.parameters_library", Path(__file__).with_name("parameters_library.py"))
assert _spec is not None
assert _spec.loader is not None
library: Any = module_from_spec(_spec)
_spec.loader.exec_module(library)

METRICS = row_of("removed library:save >=5.0.0 metrics 2 None")


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("newer", "library:Base.hook", ">=5.0.0", "offsets", 2, "None", "", "library:Base.by_name", "self", 1)
    monkeypatch.setattr(parameters_adapted, "_newer", lambda: {"hook": {"offsets": row}})
    parameters_adapted._function_lacks.cache_clear()
    library.calls.clear()


def ended(call: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[str, list[str]]:
    """The message of the TypeError that ends a program, and its notes; pytest expects it without a handler in sight."""
    seen: list[tuple[str, list[str]]] = []

    def program() -> None:
        call(*args, **kwargs)

    def main() -> None:
        try:
            program()
        except Exception as error:  # reports every error, as a test runner does
            print(error)
            seen.append((str(error), getattr(error, "__notes__", [])))

    main()
    return seen[0] if seen else ("", [])


# -- removed -----------------------------------------------------------------------------------------------------------

save = without([METRICS], "parameters-removed")(library.save)


@pytest.mark.parametrize(
    "call",
    [
        lambda: save("m", "t", metrics=None),
        lambda: save("m", "t", None),
        lambda: save("m", trial="t", metrics=None),
        lambda: save(*["m", "t", None]),
        lambda: functools.partial(save, "m", metrics=None)("t"),
    ],
)
def test_a_removed_argument_with_its_old_default_is_omitted(call: Callable[[], Any]) -> None:
    assert call() == ("m", "t", False)
    assert library.calls == [("m", "t", False)], "the function ran once"


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (("m", "t"), {"metrics": {"loss": 1}}),
        (("m", "t", {"loss": 1}), {}),
        (("m", "t", None), {"metrics": None}),
        (("m", "t", None, None), {}),
        (("m",), {"metrics": None}),
        (("m", "t"), {"metrics": None, "other": 1}),
        (("m", "t"), {"metrics": False}),
    ],
)
def test_any_other_wrong_call_ends_as_without_hotfix(args: Any, kwargs: Any) -> None:
    stock, _ = ended(library.save, *args, **kwargs)
    armed, notes = ended(save, *args, **kwargs)
    assert stock
    assert armed == stock
    assert library.calls == []
    is_other_value = kwargs.get("metrics", args[2] if len(args) == 3 else None) is not None and "other" not in kwargs
    assert bool(notes) == (is_other_value and sys.version_info >= (3, 11))


def test_an_error_of_the_function_itself_does_not_repeat_the_call() -> None:
    assert ended(save, "m", "raise")[0] == "save() got an unexpected keyword argument 'metrics'"
    assert library.calls == [("m", "raise", False)]


def test_a_program_with_a_handler_gets_the_error() -> None:
    def fallback() -> Any:
        try:
            return save("m", "t", metrics=None)
        except TypeError:
            return "own way"

    assert fallback() == "own way"
    assert library.calls == []


def test_the_signature_stays_that_of_the_release() -> None:
    updated = functools.update_wrapper(save, library.save, updated=())
    assert inspect.signature(updated) == inspect.signature(library.save)


@pytest.mark.parametrize(
    ("row", "value", "given", "expected"),
    [
        ("removed a:f >=1 x 0 False", False, {}, True),
        ("removed a:f >=1 x 0 False", 0, {}, False),
        ("removed a:f >=1 x 0 None|{}", {}, {}, True),
        ("removed a:f >=1 x 0 None|{}", [], {}, False),
        ("removed a:f >=1 x 0 *", object(), {}, True),
        ("removed a:f >=1 x 0 @model", None, {}, True),
        ("removed a:f >=1 x 0 @model", "cpu", {"model": type("M", (), {"device": "cpu"})()}, True),
        ("removed a:f >=1 x 0 @model", "cuda", {"model": type("M", (), {"device": "cpu"})()}, False),
        ("removed a:f >=1 x 0 @model", "cpu", {}, False),
        ("removed a:f >=1 x 0 * 1=None", 1, {}, False),
    ],
)
def test_which_values_change_nothing(row: str, value: Any, given: Any, expected: bool) -> None:
    assert parameters_adapted.is_neutral(row_of(row), value, given, (), 0) is expected


# -- newer -------------------------------------------------------------------------------------------------------------


def passing(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        print("called")
        return function(*args, **kwargs)

    return wrapper


def passing_with_self(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    return wrapper


def filtering(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        known = inspect.signature(function).parameters
        kept = {name: value for name, value in kwargs.items() if name in known}
        return (*function(self, *args[:2], **kept), len(args) + len(kwargs))

    return wrapper


def popping(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        popped = kwargs.pop("offsets", "absent")
        return (*function(*args[:3], **kwargs), popped)

    return wrapper


def choosing(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) > 2:
            return "own way", len(args), len(kwargs)
        return function(*args, **kwargs)

    return wrapper


def catching(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError:
            return "own way"

    return wrapper


class Plain(library.Base):
    def hook(self, inputs: Any, mask: Any = None) -> Any:
        return "own", inputs, mask


class Decorated(library.Base):
    @passing
    def hook(self, inputs: Any, mask: Any = None) -> Any:
        return "own", inputs, mask


class DecoratedTwice(library.Base):
    @passing
    @passing_with_self
    def hook(self, inputs: Any, mask: Any = None) -> Any:
        return "own", inputs, mask


class Static(library.Base):
    @staticmethod
    def hook(inputs: Any, mask: Any = None) -> Any:
        return "own", inputs, mask


class OfClass(library.Base):
    @classmethod
    def hook(cls, inputs: Any, mask: Any = None) -> Any:
        return "own", inputs, mask


class Inherited(Plain):
    pass


class CallingSuper(library.Base):
    def hook(self, inputs: Any, mask: Any = None) -> Any:
        return ("own", *super().hook(inputs, mask)[1:3])


class ByNameOnly(library.Base):
    def hook(self, inputs: Any, *, mask: Any = None) -> Any:
        return "own", inputs, mask


def on_the_instance() -> Any:
    made = library.Base()
    made.hook = lambda inputs, mask=None: ("own", inputs, mask)
    return made


@pytest.mark.parametrize(
    "make", [Plain, Decorated, DecoratedTwice, Static, OfClass, Inherited, CallingSuper, on_the_instance]
)
@pytest.mark.parametrize("way", ["by_name", "by_place"])
def test_an_override_without_the_argument_is_called_without_it(make: Any, way: str) -> None:
    assert getattr(make(), way)() == ("own", 1, 2)
    message, notes = ended(getattr(make(), way), offsets=[3])
    assert message
    assert bool(notes) == (sys.version_info >= (3, 11))


def test_an_override_with_keyword_only_arguments_is_called_by_name() -> None:
    assert ByNameOnly().by_name() == ("own", 1, 2)
    assert "positional" in ended(ByNameOnly().by_place)[0], "its own second position is missing as well"


class Any_(library.Base):
    def hook(self, *args: Any, **kwargs: Any) -> Any:
        return "own", args, kwargs


class WithKeywords(library.Base):
    def hook(self, inputs: Any, mask: Any = None, *rest: Any, **kwargs: Any) -> Any:
        return "own", rest, kwargs


class Newer(library.Base):
    def hook(self, inputs: Any, mask: Any = None, offsets: Any = "none") -> Any:
        return "own", offsets


class Filtered(library.Base):
    hook = filtering(Plain.hook)


class Popped(library.Base):
    hook = popping(Plain.hook)


class Choosing(library.Base):
    hook = choosing(Plain.hook)


class Catching(library.Base):
    hook = catching(Plain.hook)


class Counting(library.Base):
    def hook(self, inputs: Any, mask: Any = None, offsets: Any = None, **kwargs: Any) -> Any:
        return "own", offsets, kwargs


@pytest.mark.parametrize(
    "make", [library.Base, Any_, WithKeywords, Newer, Filtered, Popped, Choosing, Catching, Counting]
)
@pytest.mark.parametrize("way", ["by_name", "by_place"])
@pytest.mark.parametrize("offsets", [None, [3]])
def test_a_program_that_works_gets_what_the_library_passes(make: Any, way: str, offsets: Any) -> None:
    made = make()
    expected = made.hook(1, mask=2, offsets=offsets) if way == "by_name" else made.hook(1, 2, offsets)
    assert getattr(made, way)(offsets) == expected


class OtherNames(library.Base):
    def hook(self, mask: Any, inputs: Any = None) -> Any:
        return "own", inputs, mask


def test_an_override_with_other_names_is_not_guessed_by_position() -> None:
    assert "positional" in ended(OtherNames().by_place)[0]
    assert "multiple values" in ended(OtherNames().by_name)[0], "the error of the call that the library makes"


def test_a_program_with_a_handler_around_the_library_gets_the_error_of_its_override() -> None:
    def fallback() -> Any:
        try:
            return Plain().by_name()
        except TypeError:
            return "own way"

    assert fallback() == "own way"


def test_rows_are_read_back_as_they_are_written() -> None:
    lines = parameters_adapted.FILE.read_text(encoding="utf-8").splitlines()
    assert [str(row_of(line)) for line in lines] == lines == sorted(lines)
    assert parameters_adapted.joined([">=5.3.0", ">=4.36.0,<5.3.0"]) == ">=4.36.0"
    assert parameters_adapted.joined([">=4.45.0,<5.0.0", ">=4.42.0,<4.45.0"]) == ">=4.42.0,<5.0.0"
