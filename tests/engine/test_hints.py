"""The additional line in an error about a name, if a disabled fix would restore the name."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import types
from typing import Any

import pytest

from hotfix.patching import live
from hotfix.patching.hints import Hints, is_hinting

LINE = "hotfix can give this name its old meaning: HOTFIX_OPTIN=removed-names"


class Lazy(types.ModuleType):
    """A package as in transformers: it imports names on demand."""

    def __getattr__(self, name):
        if name == "given":
            return 5
        raise AttributeError(f"module {self.__name__} has no attribute {name}")

    def __reduce__(self):
        return (self.__class__, (self.__name__,))


@pytest.fixture
def hints():
    made = Hints()
    yield made
    made.clear()


@pytest.fixture(params=[types.ModuleType, Lazy])
def module(request, hints, monkeypatch):
    made = request.param("a_module_of_the_test")
    made.__file__ = "where/it/is.py"
    made.there = 3
    monkeypatch.setitem(sys.modules, made.__name__, made)
    hints.put(made, {"Gone": LINE, "given": LINE})
    return made


def said(error):
    return getattr(error, "__notes__", None) or str(error).split("\n")[1:]


def error_of(program, monkeypatch, **names):
    """The error that ends a program: in a thread, since pytest handles the errors of its own."""
    ended = []
    with monkeypatch.context() as here:
        here.setattr(threading, "excepthook", lambda ended_by: ended.append(ended_by.exc_value))
        thread = threading.Thread(target=exec, args=(program, names))
        thread.start()
        thread.join()
    (error,) = ended
    return error


def test_an_import_of_a_name_that_is_gone_says_one_line_more(module, monkeypatch):
    error = error_of("from a_module_of_the_test import there, Gone", monkeypatch)
    plain = "cannot import name 'Gone' from 'a_module_of_the_test' (where/it/is.py)"
    assert str(error).split("\n")[0] == plain
    assert type(error) is ImportError
    assert (error.name, error.path) == ("a_module_of_the_test", "where/it/is.py")
    assert getattr(error, "name_from", "Gone") == "Gone"  # of Python 3.12
    assert said(error) == [LINE]


def test_an_error_that_the_program_handles_is_pythons_own(module):
    with pytest.raises(ImportError) as caught:
        exec("from a_module_of_the_test import Gone", {})
    assert str(caught.value) == "cannot import name 'Gone' from 'a_module_of_the_test' (where/it/is.py)"
    assert said(caught.value) == []
    if type(module).__mro__[1] is Lazy:
        with pytest.raises(AttributeError) as missing:
            module.Gone  # noqa: B018 - it is asked for
        assert said(missing.value) == []


def test_a_module_without_a_file_gives_pythons_own_error(hints, monkeypatch):
    made = types.ModuleType("in_memory")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    hints.put(made, {"Gone": LINE})
    with pytest.raises(ImportError) as caught:
        exec("from in_memory import Gone", {})
    assert str(caught.value).split("\n")[0] == "cannot import name 'Gone' from 'in_memory' (unknown location)"
    assert caught.value.path is None


def test_a_module_gets_its_names_once(hints, module):
    kind = type(module)
    hints.put(module, {"Other": LINE})
    assert type(module) is kind
    plain = types.ModuleType("plain")
    hints.put(plain, {})
    assert type(plain) is types.ModuleType
    assert len(hints) == 1


def test_other_names_are_unchanged(module):
    with pytest.raises(ImportError) as caught:
        exec("from a_module_of_the_test import Other", {})
    assert said(caught.value) == []
    assert module.there == 3
    assert not hasattr(module, "Gone")
    assert getattr(module, "Gone", 7) == 7


def test_a_lazy_package_reports_missing_attributes_too_and_returns_existing_ones(hints, monkeypatch):
    made = Lazy("another_module_of_the_test")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    hints.put(made, {"Gone": LINE, "given": LINE})
    assert said(error_of("made.Gone", monkeypatch, made=made)) == [LINE]
    namespace: dict[str, object] = {}
    exec("from another_module_of_the_test import given", namespace)
    assert namespace["given"] == made.given == 5


def test_a_name_that_comes_later_wins(module):
    module.Gone = 4
    namespace: dict[str, object] = {}
    exec("from a_module_of_the_test import Gone", namespace)
    assert namespace["Gone"] == module.Gone == 4
    del module.Gone
    assert not hasattr(module, "Gone")


def test_a_submodule_of_that_name_is_imported(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "a_module_of_the_test.Gone", sys)
    namespace: dict[str, object] = {}
    exec("from a_module_of_the_test import Gone", namespace)
    assert namespace["Gone"] is sys


def test_everything_is_as_it_was_when_it_is_cleared(hints, module):
    base = type(module).__mro__[1]
    assert is_hinting(module)
    assert (type(module).__name__, type(module).__module__) == (base.__name__, base.__module__)
    assert repr(module) == "<module 'a_module_of_the_test' from 'where/it/is.py'>"
    hints.clear()
    assert type(module) is base
    assert not len(hints)
    with pytest.raises(ImportError) as caught:
        exec("from a_module_of_the_test import Gone", {})
    assert said(caught.value) == []


def test_a_module_that_has_got_another_class_since_keeps_it(hints, module):
    other = type("Another", (type(module),), {})
    module.__class__ = other
    hints.clear()
    assert type(module) is other


def test_names_are_rebound_in_such_a_module(module):
    old, new = object(), object()
    module.held = old
    live.rebind(old, new)
    assert module.held is new


def test_a_plain_module_is_pickled_by_its_name(hints, monkeypatch):
    import tests.engine as known

    hints.put(known, {"Gone": LINE})
    assert pickle.loads(pickle.dumps(known)) is known
    assert copy.deepcopy(known) is known


def test_a_module_of_another_kind_is_pickled_as_that_kind_has_it(hints):
    made = Lazy("not_to_be_imported")
    hints.put(made, {"Gone": LINE})
    again = pickle.loads(pickle.dumps(made))
    assert (type(again), again.__name__) == (Lazy, "not_to_be_imported")
    other = Elsewhere("elsewhere")
    hints.put(other, {"Gone": LINE})
    assert pickle.loads(pickle.dumps(other)) == ["elsewhere"]


class Elsewhere(types.ModuleType):
    """An error that is not pickled as its class."""

    def __reduce__(self):
        return (list, ((self.__name__,),))


def test_the_module_itself_may_answer_for_the_name(hints, monkeypatch):
    made = types.ModuleType("it_answers_itself")

    def answer(name):
        if name != "Gone":
            raise AttributeError(name)
        return 6

    vars(made)["__getattr__"] = answer
    monkeypatch.setitem(sys.modules, made.__name__, made)
    hints.put(made, {"Gone": LINE})
    names: dict[str, object] = {}
    exec("from it_answers_itself import Gone", names)
    assert names["Gone"] == made.Gone == 6


def test_a_module_that_a_shim_gives_another_class_goes_on_working(hints, module):
    base: Any = type(module)

    class Shim(base):
        def __getattr__(self, name):
            if name == "shimmed":
                return 8
            raise AttributeError(name)

    module.__class__ = Shim
    for _ in (1, 2):
        names: dict[str, object] = {}
        exec("from a_module_of_the_test import shimmed", names)
        assert names["shimmed"] == 8
        with pytest.raises(ImportError, match="cannot import name 'Gone' from 'a_module_of_the_test'"):
            exec("from a_module_of_the_test import Gone", {})
        assert not hasattr(module, "Gone")
        hints.clear()


def test_a_name_behind_many_others_says_one_line_more_too(module, monkeypatch):
    many = "".join(f"try:\n    name{n}\nexcept NameError:\n    pass\n" for n in range(300))
    assert said(error_of(f"{many}from a_module_of_the_test import Gone", monkeypatch)) == [LINE]
