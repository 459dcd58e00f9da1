"""Warnings of a decorator keep their place behind a wrapper, and nothing of that is left after a revert."""

from __future__ import annotations

import types
import warnings
from typing import Any, Callable

import pytest

from hotfix.patching import placing
from hotfix.patching.journal import Journal
from tests.hostile.conftest import Lab, lab

__all__ = ["lab"]

TEXT = """
import functools
import warnings


def renamed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        warnings.warn("an old name", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return wrapper


@renamed
def scale(x):
    return x + 2


@renamed
def other(x):
    return x + 3


def call(x):
    return scale(x)
"""


def around(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return original(*args, **kwargs)

    return wrapper


def place(call: Callable[..., Any]) -> str:
    """The file that the warning of a call names."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert call(1) in (3, 4)
    (warning,) = caught
    return f"{warning.filename}:{warning.lineno}"


def test_a_warning_of_a_decorator_names_its_caller(lab: Lab) -> None:
    toy, journal, first, second = lab.module(text=TEXT), Journal(), lab.fix("a-wrap"), lab.fix("b-wrap")
    here, inside = place(lambda x: toy.scale(x)), place(toy.call)
    assert here.startswith(__file__)
    first.wraps("toys.toy:scale")(around)
    second.wraps("toys.toy:scale", "toys.toy:other", own=("self",))(around)
    for fix in (first, second):
        for target in fix.targets[:1]:
            journal.install(fix, target, toy)
    before = here.rpartition(":")[0]
    assert place(lambda x: toy.scale(x)).rpartition(":")[0] == before
    assert place(toy.call) == inside
    assert journal.uninstall() == []


def test_a_filter_by_module_applies_as_before(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-wrap")
    fix.wraps("toys.toy:scale")(around)
    journal.install(fix, fix.targets[0], toy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=FutureWarning, module="toys")
        assert toy.call(1) == 3
        with pytest.raises(FutureWarning):
            toy.scale(1)
    journal.uninstall()


def test_the_module_has_its_own_name_again_when_no_wrapper_is_left(lab: Lab) -> None:
    toy, journal, first, second = lab.module(text=TEXT), Journal(), lab.fix("a-wrap"), lab.fix("b-wrap")
    before = dict(vars(toy))
    first.wraps("toys.toy:scale")(around)
    second.wraps("toys.toy:other")(around)
    for fix in (first, second):
        journal.install(fix, fix.targets[0], toy)
    assert isinstance(toy.warnings, types.ModuleType)
    assert toy.warnings is not warnings
    assert toy.warnings.filters is warnings.filters
    assert toy.warnings.__name__ == "warnings"
    journal.uninstall({"a-wrap"})
    assert toy.warnings is not warnings
    journal.uninstall()
    assert vars(toy) == before


def test_a_module_with_another_object_under_the_name_keeps_it(lab: Lab) -> None:
    toy, journal, fix = lab.module(text=TEXT), Journal(), lab.fix("a-wrap")
    said: list[str] = []
    theirs = toy.warnings = types.SimpleNamespace(warn=lambda message, *_, **__: said.append(message))
    fix.wraps("toys.toy:scale")(around)
    journal.install(fix, fix.targets[0], toy)
    assert toy.call(1) == 3
    assert said == ["an old name"]
    assert toy.warnings is theirs
    journal.uninstall()
    assert toy.warnings is theirs


def test_more_levels_than_frames_are_no_error() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        placing._substitute.warn("far away", UserWarning, stacklevel=10_000)
    assert [str(warning.message) for warning in caught] == ["far away"]


def test_a_function_in_the_place_of_warn_gets_its_arguments_as_they_come(monkeypatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(warnings, "warn", lambda *args, **kwargs: calls.append((args, kwargs)))
    placing._substitute.warn("an old name", FutureWarning, stacklevel=2)
    assert calls == [(("an old name", FutureWarning), {"stacklevel": 2})]


@pytest.mark.parametrize("arguments", [("gone", UserWarning), ("gone", UserWarning, 1), ("gone", UserWarning, 1, None)])
def test_every_form_of_a_warning_names_its_line(arguments) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        placing._substitute.warn(*arguments)
    assert [warning.filename for warning in caught] == [__file__]
