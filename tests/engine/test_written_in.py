"""A class of the library is the library's even while its module is being imported; one that only says so is not."""

from __future__ import annotations

import sys
import types
from types import SimpleNamespace

import pytest

from hotfix.patching import scope


@pytest.fixture
def module(monkeypatch):
    made = types.ModuleType("a_library.models")
    monkeypatch.setattr(made, "__spec__", SimpleNamespace(_initializing=True))
    monkeypatch.setitem(sys.modules, "a_library.models", made)
    return made


def test_a_class_without_functions_is_the_librarys_before_its_statement_has_ended(module):
    seen = []

    class Base:
        def __init_subclass__(cls):
            seen.append(scope.was_written_in("a_library", cls))

    kind = type("Model", (Base,), {"__module__": "a_library.models", "__qualname__": "Model"})
    assert seen == [True]
    module.Model = kind
    module.__spec__._initializing = False
    assert scope.was_written_in("a_library", kind)


def test_a_class_that_only_says_so_is_not(module):
    module.__spec__._initializing = False
    module.Model = type("Model", (), {"__module__": "a_library.models", "__qualname__": "Model"})
    assert scope.was_written_in("a_library", module.Model)
    for name in ("Model", "Another"):
        assert not scope.was_written_in("a_library", type(name, (), {"__module__": "a_library.models"}))
