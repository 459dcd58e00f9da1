"""Handlers of packages that call functions of the program, and raise every error again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Callable

import pytest

from hotfix import asking

MAP = """
def single(function):
    try:
        yield function()
    except (Exception, KeyboardInterrupt):
        yield "progress"
        raise

def finally_(function):
    try:
        try:
            yield function()
        finally:
            yield "progress"
    except Exception as error:
        raise RuntimeError("not generated") from error

def swallowing(function):
    try:
        yield function()
    except Exception:
        yield "progress"
"""
COMMAND = """
def main(function):
    try:
        return function()
    except AttributeError:
        print("stopped")
"""
STEP = """
import contextlib

class Trainer:
    def context(self):
        stack = contextlib.ExitStack()
        inner = contextlib.nullcontext()
        if not isinstance(inner, (contextlib.nullcontext, AttributeError)):
            stack.enter_context(inner)
        return stack

    def step(self, function):
        with self.context():
            return function()

def run(function):
    return Trainer().step(function)
"""

SETTINGS = """
def checked(function):
    try:
        return validated(function)
    except SettingsError:
        print("refused")
"""


def answered(text: str, module: str, name: str) -> bool:
    """Whether an error counts as handled that a function of the program raises below one of a module."""
    answers = []

    def asks() -> None:
        answers.append(asking.is_handled(AttributeError, sys._getframe(0)))

    namespace: dict[str, Any] = {"__name__": module}
    exec(compile(text, f"{module}.py", "exec"), namespace)
    run: Callable[..., Any] = namespace[name]
    result = run(asks)
    assert answers or list(result)
    return answers[0]


def test_datasets_raises_again_after_its_progress() -> None:
    assert not answered(MAP, "datasets.arrow_dataset", "single")
    assert not answered(MAP, "datasets.builder", "finally_")


def test_a_generator_of_datasets_may_still_swallow_an_error() -> None:
    assert answered(MAP, "datasets.arrow_dataset", "swallowing")


@pytest.mark.parametrize("name", ["single", "finally_", "swallowing"])
def test_other_generators_may_never_be_resumed(name: str) -> None:
    assert answered(MAP, "mydatasets", name)


@pytest.mark.parametrize("module", ["click.core", "typer.core", "mine"])
def test_what_runs_a_command_does_not_count(module: str) -> None:
    name = {"typer.core": "_main"}.get(module, "main")
    assert answered(COMMAND.replace("main", name), module, name) == (module == "mine")


@pytest.mark.parametrize("module", ["transformers.trainer", "accelerate.accelerator", "mine"])
def test_the_context_of_a_step_of_the_trainer_does_not_count(module: str) -> None:
    assert answered(STEP, module, "run") == (module == "mine")


def test_a_handler_around_the_package_counts() -> None:
    namespace: dict[str, Any] = {"__name__": "datasets.arrow_dataset"}
    exec(compile(MAP, "datasets.py", "exec"), namespace)
    answers = []

    def asks() -> None:
        answers.append(asking.is_handled(AttributeError, sys._getframe(0)))

    def program(run: Callable[..., Iterator[Any]]) -> None:
        try:
            list(run(asks))
        except AttributeError:
            print("another way")

    program(namespace["single"])
    assert answers == [True]


@pytest.mark.parametrize(
    ("error", "module", "handled"),
    [
        (ValueError, "pydantic.main", True),
        (AssertionError, "pydantic.type_adapter", True),
        (TypeError, "pydantic.main", False),  # goes on unchanged
        (ValueError, "another.main", False),
    ],
)
def test_an_error_of_a_validator_is_that_of_pydantic_further_up(
    error: type[Exception], module: str, handled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []

    def asks() -> None:
        answers.append(asking.is_handled(error, sys._getframe(0)))

    class SettingsError(ValueError):
        pass

    monkeypatch.setitem(sys.modules, "pydantic_core", SimpleNamespace(ValidationError=SettingsError))
    theirs: dict[str, Any] = {"__name__": module}
    exec(compile("def validated(function):\n    function()\n", "main.py", "exec"), theirs)
    ours: dict[str, Any] = {"__name__": "program", "SettingsError": SettingsError, "validated": theirs["validated"]}
    exec(compile(SETTINGS, "program.py", "exec"), ours)
    ours["checked"](asks)
    assert answers == [handled]


@pytest.mark.parametrize("handler", ["SerializationError", "AttributeError"])
def test_an_error_of_a_serializer_may_be_that_of_pydantic_or_its_own(
    handler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []

    def asks() -> None:
        answers.append(asking.is_handled(AttributeError, sys._getframe(0)))

    class SerializationError(ValueError):
        pass

    monkeypatch.setitem(sys.modules, "pydantic_core", SimpleNamespace(PydanticSerializationError=SerializationError))
    theirs: dict[str, Any] = {"__name__": "pydantic.main"}
    exec(compile("def model_dump(function):\n    function()\n", "main.py", "exec"), theirs)
    ours: dict[str, Any] = {"__name__": "program", "validated": theirs["model_dump"]}
    ours["SerializationError"] = SerializationError
    exec(compile(SETTINGS.replace("SettingsError", handler), "program.py", "exec"), ours)
    ours["checked"](asks)
    assert answers == [True]
