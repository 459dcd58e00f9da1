"""A class of the library is the library's even while its module is being imported; one that only says so is not."""

from __future__ import annotations

import sys
import types

import pytest

from hotfix.patching import scope

STATEMENT = """
class Model(Base):
    pass
"""


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("a_library.models")
    monkeypatch.setitem(sys.modules, "a_library.models", made)
    return made


def test_a_class_without_functions_is_the_librarys_before_its_statement_has_ended(module):
    seen = []

    class Base:
        def __init_subclass__(cls):
            seen.append(scope.was_written_in("a_library", cls))

    module.Base = Base
    for time in ("imported", "reloaded"):
        exec(compile(STATEMENT, time, "exec"), vars(module))
        assert scope.was_written_in("a_library", module.Model)
    assert seen == [True, True]


def test_a_class_that_only_says_so_is_not(module):
    module.Model = type("Model", (), {"__module__": "a_library.models", "__qualname__": "Model"})
    assert scope.was_written_in("a_library", module.Model)
    for name in ("Model", "Another"):
        assert not scope.was_written_in("a_library", type(name, (), {"__module__": "a_library.models"}))
