"""Conditional repairs: the release's own code runs unless the bug is triggered on the library's own path."""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
import sys
import textwrap
import types
from typing import Any

import pytest

from hotfix.errors import Refusal
from hotfix.fix import Fix
from hotfix.patching import binding, code, scope
from tests.facts import lacking

NAMES = itertools.count()

LAYER = '''
class Base:
    def run(self, x, scale=2, **kwargs):
        return x * scale


class Layer(Base):
    def run(self, x, *rest, scale=2, **kwargs):
        """Docstring."""
        x = x + 1
        kwargs.pop("gone", None)
        if scale == 7:
            raise ValueError("scale 7 is wrong")
        if scale == 8:
            raise ValueError("eight")
        made = super().run(x, scale)
        return [made + each for each in (0, 1)], rest, kwargs

    def note(self, seen, scale=2):
        seen.append(scale)
        if scale == 7:
            raise ValueError("scale 7 is wrong")

    def generate(self, n):
        for number in range(n):
            if number == 2:
                raise ValueError("scale 2 is wrong")
            yield number
'''


def run_of_ours(self, x, *rest, scale=2, **kwargs):
    """A replacement with annotations that the module of the library could not evaluate."""

    def inner(value: types.ModuleType) -> types.ModuleType:
        return value

    return "ours", inner(x)


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A module of a separate library, loaded from a file; restores the state of the run-time checks."""
    name = f"toylib{next(NAMES)}.layers"
    monkeypatch.setattr(scope, "_left_alone", {})
    monkeypatch.setattr(scope, "_places", {})
    return loaded(name, LAYER, tmp_path, monkeypatch)


def loaded(name, text, folder, monkeypatch):
    file = folder / f"{name}.py"
    file.write_text(textwrap.dedent(text))
    module = types.ModuleType(name)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(file.read_text(), str(file), "exec", dont_inherit=True), vars(module))
    return module


def repaired(module, *fixes, qualname="Layer.run"):
    """Replace the code of a function in the module by the repaired code of these fixes."""
    function = functools.reduce(getattr, qualname.split("."), module)
    text = "".join(linecache.getlines(module.__file__))
    original = code.written(function.__code__, qualname, text)
    made = code.edited_code(original, [target for fix in fixes for target in fix.targets])
    binding.provide(function, made)
    function.__code__ = made
    return function


def on_error(module, errors=("ValueError: scale … is wrong",), **condition):
    fix = Fix(id="toy-error", title="an error", kind="crash", errors=errors)
    old = 'if scale == 7:\n    raise ValueError("scale 7 is wrong")'
    fix.edits(f"{module.__name__}:Layer.run", old=old, new="pass", on_error=True, **condition)
    return fix


def silent(module, id="toy-silent", old="made + each", new="made - each", **condition):
    fix = Fix(id=id, title="wrong numbers", kind="silent")
    fix.edits(f"{module.__name__}:Layer.run", old=old, new=new, **condition)
    return fix


def test_the_repaired_code_runs_after_the_declared_error_with_the_arguments_of_the_call(library):
    stock = library.Layer().run(1, 9, scale=2, gone=1, kept=2)
    repaired(library, on_error(library))
    assert library.Layer().run(1, 9, scale=2, gone=1, kept=2) == stock
    assert library.Layer().run(1, 9, scale=7, gone=1, kept=2) == ([14, 15], (9,), {"kept": 2})


def test_a_function_that_ends_without_a_return_runs_once(library):
    fix = Fix(id="toy-error", title="t", kind="crash", errors=("ValueError: scale … is wrong",), on_error=True)
    fix.edits(f"{library.__name__}:Layer.note", old='raise ValueError("scale 7 is wrong")', new='seen.append("right")')
    repaired(library, fix, qualname="Layer.note")
    seen: list = []
    library.Layer().note(seen)
    assert seen == [2]
    library.Layer().note(seen, scale=7)
    assert seen == [2, 7, 7, "right"]


def test_a_handler_of_the_program_for_the_error_takes_precedence(library):
    repaired(library, on_error(library))
    layer = library.Layer()

    def falls_back():
        try:
            return layer.run(1, scale=7)
        except ValueError:
            return "the program's own way"

    def reports():
        try:
            return layer.run(1, scale=7)
        except ValueError as error:
            print(error)
            raise

    assert falls_back() == "the program's own way"
    assert "ValueError" in scope.left_alone()["toy-error"]
    assert reports()[0] == [14, 15]


def test_another_error_passes_unchanged(library):
    repaired(library, on_error(library))
    with pytest.raises(ValueError, match=r"^eight$") as caught:
        library.Layer().run(1, scale=8)
    assert caught.value.__context__ is None
    with pytest.raises(TypeError):
        library.Layer().run("text", scale=2)


def test_an_error_of_another_class_with_the_same_text_passes(library):
    repaired(library, on_error(library, errors=("KeyError: scale … is wrong",)))
    with pytest.raises(ValueError, match="scale 7"):
        library.Layer().run(1, scale=7)


def test_an_error_inside_of_the_repaired_code_has_no_context_of_ours(library):
    fix = Fix(id="toy-error", title="t", kind="crash", errors=("ValueError: scale 7 is wrong",), on_error=True)
    fix.edits(f"{library.__name__}:Layer.run", old='ValueError("scale 7 is wrong")', new='KeyError("repaired")')
    repaired(library, fix)
    with pytest.raises(KeyError, match="repaired") as caught:
        library.Layer().run(1, scale=7)
    assert caught.value.__context__ is None


def test_names_signature_and_docstring_are_those_of_the_release(library):
    before = library.Layer.run
    signature, document, first = inspect.signature(before), before.__doc__, before.__code__.co_firstlineno
    after = repaired(library, on_error(library), silent(library, own=("self.run",)))
    assert after is before
    assert (inspect.signature(after), after.__doc__) == (signature, document)
    assert after.__code__.co_firstlineno == first
    assert after.__code__.co_freevars == ("__class__",)


def test_a_generator_is_not_repaired_on_its_error(library):
    fix = Fix(id="toy-error", title="t", kind="crash", errors=("ValueError: …",), on_error=True)
    fix.edits(f"{library.__name__}:Layer.generate", old="number == 2", new="False")
    with pytest.raises(Refusal, match="generator"):
        repaired(library, fix, qualname="Layer.generate")


def test_a_fix_that_acts_on_its_error_declares_one():
    fix = Fix(id="toy-error", title="t", kind="crash", on_error=True)
    with pytest.raises(ValueError, match="toy-error"):
        fix.edits("toylib:run", old="a", new="b")


def test_a_misspelt_condition_is_refused():
    with pytest.raises(ValueError, match="whenever"):
        Fix(id="toy", title="t", kind="crash").edits("toylib:run", old="a", new="b", whenever="True")


def test_a_condition_that_is_not_python_is_refused_where_it_is_declared():
    with pytest.raises(ValueError, match="toy"):
        Fix(id="toy", title="t", kind="crash", when="scale >\n5").edits("toylib:run", old="a", new="b")


@pytest.mark.parametrize(("scale", "sign"), [(2, 1), (6, -1)])
def test_an_expression_over_the_arguments_decides(library, scale, sign):
    repaired(library, silent(library, when="scale > 5"))
    assert library.Layer().run(1, scale=scale)[0] == [2 * scale, 2 * scale + sign]


def test_a_condition_may_import(library):
    repaired(library, silent(library, when="import operator as operator_\noperator_.gt(scale, 5)"))
    assert library.Layer().run(1, scale=6)[0] == [12, 11]


def test_a_condition_that_cannot_be_evaluated_leaves_the_call_alone_and_is_reported(library):
    repaired(library, silent(library, when="scale.nothing > 5"))
    assert library.Layer().run(1, scale=6)[0] == [12, 13]
    assert "AttributeError" in scope.left_alone()["toy-silent"]


def test_statements_are_chosen_too(library):
    old = "made = super().run(x, scale)"
    repaired(library, silent(library, old=old, new=f"{old}\nmade = made + 100", when="scale == 3"))
    assert library.Layer().run(1, scale=3)[0] == [106, 107]
    assert library.Layer().run(1, scale=2)[0] == [4, 5]


def test_conditions_of_several_fixes_in_one_function_are_independent(library):
    first = silent(library, "toy-first", when="scale == 3")
    second = silent(library, "toy-second", old="x = x + 1", new="x = x + 10", when="x == 1")
    repaired(library, first, second, on_error(library))
    assert library.Layer().run(1, scale=3)[0] == [33, 32]
    assert library.Layer().run(2, scale=2)[0] == [6, 7]
    assert library.Layer().run(1, scale=7)[0] == [77, 78]


def test_a_replacement_can_have_a_condition(library):
    fix = Fix(id="toy-replaced", title="t", kind="silent")
    fix.replaces(f"{library.__name__}:Layer.run", when="scale == 3")(run_of_ours)
    repaired(library, fix)
    assert library.Layer().run(1, scale=3) == ("ours", 1)
    assert "super().run" in inspect.getsource(library.Layer.run)  # a copy gets the library's version
    assert library.Layer().run(1, scale=2)[0] == [4, 5]


# -- imports of a repair from hotfix -----------------------------------------------------------------------------------


@pytest.fixture
def without_hotfix(monkeypatch):
    """Removes hotfix from the modules of this process, and makes every import of it fail; for one test."""

    asked: list[str] = []

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "hotfix":
                asked.append(name)
                raise ImportError(f"{name} is not here")

    def leave():
        for name in [module for module in sys.modules if module.partition(".")[0] == "hotfix"]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
        return asked

    return leave


CHOSEN = "import hotfix.patching.scope as _scope\n_scope.is_own('toy-silent', self, 'run', {library!r}) and scale == 3"


@pytest.mark.parametrize(
    "condition",
    [
        {"own": ("self.run",)},
        {"along": ("{module}:Base.run",)},
        {"when": CHOSEN},
        {"when": "from hotfix.patching.scope import is_class_of as of_class\nof_class('toy', None) and scale == 3"},
        {"when": "from hotfix.patching import scope as _scope\n_scope.is_class_of('toy', None) and scale == 3"},
    ],
    ids=["own", "along", "when", "a name", "a module"],
)
def test_a_repair_runs_on_after_hotfix_has_left_the_modules(library, without_hotfix, condition):
    known = {"module": library.__name__, "library": library.__name__.partition(".")[0]}
    filled: dict[str, Any] = {
        name: value.format(**known) if isinstance(value, str) else tuple(item.format(**known) for item in value)
        for name, value in condition.items()
    }
    repaired(library, silent(library, **filled))
    scope.put(f"{library.__name__}:Base.run", library.Base, "run", library.Base.run, library.Base.run)
    asked = without_hotfix()
    assert library.Layer().run(1, scale=3)[0] == [6, 5]
    assert asked == []


def test_a_condition_that_cannot_be_evaluated_is_left_alone_without_hotfix_too(library, without_hotfix):
    repaired(library, silent(library, when="scale.nothing > 5"))
    asked = without_hotfix()
    assert library.Layer().run(1, scale=6)[0] == [12, 13]
    assert "AttributeError" in scope.left_alone()["toy-silent"]
    assert asked == []


def test_an_error_is_repaired_or_passes_without_hotfix_too(library, without_hotfix):
    repaired(library, on_error(library))
    asked = without_hotfix()
    assert library.Layer().run(1, scale=7)[0] == [14, 15]
    with pytest.raises(ValueError, match=r"^eight$"):
        library.Layer().run(1, scale=8)
    assert asked == []


def test_statements_of_an_edit_that_import_need_no_import_when_they_run(library, without_hotfix):
    old = "made = super().run(x, scale)"
    new = f"from hotfix._support.words import parts as split\nimport hotfix._support.words as words_of_ours\n{old}\n"
    repaired(library, silent(library, old=old, new=new + "made += len(split('a.b')) + len(words_of_ours.parts('a'))"))
    asked = without_hotfix()
    assert library.Layer().run(1, scale=3)[0] == [9, 10]
    assert asked == []


def note_that_imports(self, seen, scale=2):
    """A replacement."""
    from hotfix._support.words import parts

    return (lambda: parts)()("a.b")


def test_a_replacement_that_imports_needs_no_import_when_it_runs(library, without_hotfix):
    function = library.Layer.note
    ours: Any = note_that_imports
    made = code.replacement_code(function, function.__code__, ours)
    binding.provide(function, made)
    function.__code__ = made
    asked = without_hotfix()
    assert library.Layer().note([]) == ["a", "b"]
    assert asked == []


def test_a_copy_of_a_repaired_function_with_other_globals_is_repaired(library):
    function = repaired(library, silent(library, own=("self.run",)))
    others = {"__name__": library.__name__, "__file__": library.__file__, "__builtins__": __builtins__}
    copy = types.FunctionType(function.__code__, others, "run", None, function.__closure__)
    copy.__kwdefaults__ = {"scale": 2}
    assert copy(library.Layer(), 1)[0] == [4, 3]


def test_a_helper_that_is_not_there_is_refused_when_it_is_installed(library):
    with pytest.raises(Refusal, match=r"hotfix\.nothing"):
        repaired(library, silent(library, when="import hotfix.nothing as nothing\nnothing.at_all()"))


# -- whose code is involved --------------------------------------------------------------------------------------------


def is_repaired(layer):
    return layer.run(1)[0] == [4, 3]


@pytest.fixture
def scoped(library) -> Any:
    repaired(library, silent(library, own=("self.run",)))
    return library.Layer


def test_the_librarys_own_class_is_repaired(scoped):
    assert is_repaired(scoped())


def test_a_subclass_that_does_not_override_the_participant_is_the_librarys_path(scoped: Any) -> None:
    assert is_repaired(type("Mine", (scoped,), {"extra": 1})())


def test_an_override_is_left_alone_and_named(scoped: Any) -> None:
    def run(self, *args, **kwargs):
        return super(type(self), self).run(*args, **kwargs)

    assert not is_repaired(type("Mine", (scoped,), {"run": run})())
    assert lacking(scope.left_alone()["toy-silent"], "run", "your own") == []


def test_a_function_on_the_instance_is_seen_at_the_next_call(scoped):
    layer = scoped()
    assert is_repaired(layer)
    original = layer.run
    layer.run = lambda *args, **kwargs: original(*args, **kwargs)
    assert not is_repaired(layer)
    del layer.run
    assert is_repaired(layer)


def test_a_function_put_on_the_class_is_seen_at_the_next_call(scoped, monkeypatch):
    layer, original = scoped(), scoped.run
    assert is_repaired(layer)
    monkeypatch.setattr(scoped, "run", lambda *args, **kwargs: original(*args, **kwargs))
    assert not is_repaired(layer)


def test_a_wrapper_of_a_framework_is_the_librarys_path(scoped, tmp_path, monkeypatch):
    text = "import functools\ndef hooked(f):\n    return functools.wraps(f)(lambda *a, **k: f(*a, **k))\n"
    hooks = loaded("accelerate.toyhooks", text, tmp_path, monkeypatch)
    layer = scoped()
    layer.run = hooks.hooked(layer.run)
    assert is_repaired(layer)
    layer.run = functools.partial(scoped.run, layer)
    assert is_repaired(layer)


def test_a_wrapper_of_the_users_is_not(scoped):
    layer = scoped()
    original = layer.run

    @functools.wraps(original)
    def mine(*args, **kwargs):
        return original(*args, **kwargs)

    layer.run = mine
    assert not is_repaired(layer)


def test_a_copy_of_the_source_that_was_executed_elsewhere_is_not(scoped, library):
    copy: dict[str, Any] = {}
    text = textwrap.dedent(inspect.getsource(library.Base.run))
    exec(compile(text, "<string>", "exec"), vars(library), copy)
    assert not scope.is_own("toy", copy["run"], library=library.__name__.partition(".")[0])
    assert scope.is_own("toy", library.Base.run, library=library.__name__.partition(".")[0])


def test_an_absent_participant_is_nobodys(library):
    assert scope.is_own("toy", types.SimpleNamespace(loss=None), "loss", "toylib")
    assert scope.is_own("toy", None)
    assert scope.is_class_of("toy", None)


class Slots:
    """A callable without a ``__dict__``."""

    __slots__ = ()

    def __call__(self):
        return 0


@pytest.mark.parametrize(
    ("participant", "is_own"), [(len, True), (functools.partial(len), True), (Slots(), False), (Slots, False)]
)
def test_a_participant_without_a_namespace_is_judged_without_an_error(participant, is_own):
    assert scope.is_own("a-fix", participant) is is_own


def test_a_subclass_is_not_the_librarys_own_class(library):
    repaired(library, silent(library, own=("self",)))
    assert is_repaired(library.Layer())
    assert not is_repaired(type("Mine", (library.Layer,), {})())


# -- several places ----------------------------------------------------------------------------------------------------


def test_a_repair_in_two_places_is_active_in_both_or_in_none(library):
    other = f"{library.__name__}:Base.run"
    repaired(library, silent(library, along=(other,)))
    assert not is_repaired(library.Layer())
    scope.put(other, library.Base, "run", library.Base.run, library.Base.run)
    assert is_repaired(library.Layer())
    library.Base.run = lambda self, x, scale=2, **kwargs: x * scale
    assert not is_repaired(library.Layer())


# -- wrappers ----------------------------------------------------------------------------------------------------------


def wrapped(function, **condition):
    fix = Fix(id="toy-wrap", title="t", kind="crash", errors=("ValueError: bad",))
    fix.wraps("toylib:run", **condition)(lambda original: lambda *args, **kwargs: ("repaired", args, kwargs))
    (target,) = fix.targets
    return code.closure(target.implementation, function, target.condition, "toylib")


def test_a_wrapper_can_act_on_the_error():
    def run(x, y=0):
        if x > 1:
            raise ValueError("bad" if x == 2 else "worse")
        return x

    run = types.FunctionType(run.__code__, {**globals(), "__name__": "toylib"}, argdefs=run.__defaults__)
    function = wrapped(run, on_error=True)
    assert function(1) == 1
    assert function(2, y=3) == ("repaired", (2,), {"y": 3})
    with pytest.raises(ValueError, match="worse"):
        function(3)
    assert inspect.signature(function) == inspect.signature(run)


def test_a_repair_within_a_wrapper_on_its_error_acts_all_the_same(library):
    repaired(library, on_error(library))
    fix = Fix(id="toy-outer", title="t", kind="crash", errors=("ValueError: another",))
    fix.wraps("toylib:Layer.run", on_error=True)(lambda original: lambda *args, **kwargs: "of the wrapper")
    (target,) = fix.targets
    run = code.closure(target.implementation, library.Layer.run, target.condition, "toylib")
    assert run(library.Layer(), 1, scale=7)[0] == [14, 15]


def test_a_wrapper_can_have_a_scope(library):
    function = wrapped(library.Base.run, own=("self",))
    assert function(library.Layer(), 3, scale=5) == 15  # the class is not of the package toylib
    with pytest.raises(Refusal):
        wrapped(library.Base.run, when="True")
