"""A place that has received a name from a module once: what happens there later."""

from __future__ import annotations

import types

import pytest

from hotfix.patching import asked

SOURCE = """
def use():
    return module.gone

def prepared():
    try:
        return use()
    except AttributeError:
        return "own"
"""


@pytest.fixture
def program():
    """A program whose module lacks a name, and has received it once."""
    asked.prepare()
    module = types.ModuleType("library")
    asked.put(module, "gone", asked.Restored("gone", "restored"))
    names = {"__name__": "program", "module": module}
    exec(compile(SOURCE, "program.py", "exec"), names)
    assert names["use"]() == "restored"
    assert names["use"]() == "restored"
    return types.SimpleNamespace(**names)


def test_a_caller_that_handles_the_error_gets_it(program):
    assert program.prepared() == "own"
    assert program.use() == "restored"


def test_a_hook_of_the_module_takes_precedence(program):
    program.module.__getattr__ = lambda name: f"own {name}"
    assert program.use() == "own gone"
    del program.module.__getattr__
    assert program.use() == "restored"


def test_a_value_that_the_module_gets_takes_precedence(program):
    program.module.gone = 7
    assert program.use() == 7


def test_another_class_of_the_module_is_judged_again(program):
    class Own(type(program.module)):
        def __getattr__(self, name):
            return f"of the class: {name}"

    program.module.__class__ = Own
    assert program.use() == "of the class: gone"


def test_a_name_that_is_taken_back_is_gone(program):
    asked.take(program.module, "gone", vars(type(program.module))["gone"])
    with pytest.raises(AttributeError):
        program.use()


def test_the_number_of_places_is_limited(program):
    descriptor = vars(type(program.module))["gone"]
    for number in range(3 * asked._MOST_PLACES):
        names = {"__name__": "program", "module": program.module}
        exec(compile(SOURCE, f"program{number}.py", "exec"), names)
        assert names["use"]() == "restored"
    assert len(descriptor._known) <= asked._MOST_PLACES
