"""Each refusal has its reason and happens before any change; and which sources count as the same program."""

from __future__ import annotations

import ast
import functools
import sys
import types
from typing import Any

import pytest

from hotfix.errors import Refusal
from hotfix.fix import Fix
from hotfix.patching import code, live, standing
from hotfix.patching.journal import Journal
from hotfix.versions import source
from tests.facts import lacking
from tests.hostile.conftest import Lab, lab

__all__ = ["lab"]

TEXT = """
import math

LIMIT = 3


def scale(x, factor=2):
    for one in x:
        if one > LIMIT:
            return math.floor(one) + factor
    return factor


class Base:
    def forward(self, x):
        return x


class Layer(Base):
    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        pass
"""


def refused(lab: Lab, fix: Fix, module: types.ModuleType) -> str:
    """The reason for refusing a fix's first target; the module stays unchanged."""
    before, journal = dict(vars(module)), Journal()
    with pytest.raises(Refusal) as caught:
        journal.install(fix, fix.targets[0], module)
    assert (dict(vars(module)), len(journal)) == (before, 0)
    return str(caught.value)


def edited(lab: Lab, new: str, old: str = "return factor") -> str:
    """The reason for refusing an edit of `scale`."""
    fix = lab.fix("an-edit")
    fix.edits("toys.toy:scale", old=old, new=new)
    return refused(lab, fix, lab.module(text=TEXT))


def test_an_edit_that_does_not_compile_or_makes_another_kind_of_function_is_refused(lab: Lab) -> None:
    assert "does not compile" in edited(lab, "continue")
    assert lacking(edited(lab, "yield factor"), "arguments", "closes over") == []
    assert lacking(edited(lab, "pass", old="return nothing"), "0 times", "not 1") == []


def test_a_replacement_cannot_close_over_variables(lab: Lab) -> None:
    outside = 1
    fix = lab.fix("a-replacement")

    @fix.replaces("toys.toy:scale")
    def scale(x, factor=2):
        return outside

    assert lacking(refused(lab, fix, lab.module(text=TEXT)), "close over variables", "super()") == []


def test_a_wrapper_is_a_function_around_something_that_can_be_called(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    partial, constant = lab.fix("a-partial"), lab.fix("a-constant")
    partial.wraps("toys.toy:scale")(lambda original: functools.partial(original, factor=3))
    assert lacking(refused(lab, partial, toy), "plain function", "not partial") == []
    constant.wraps("toys.toy:LIMIT")(lambda original: lambda: original)
    assert "cannot be wrapped" in refused(lab, constant, toy)


def test_a_replacement_takes_the_place_of_a_function_alone(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    for name, why in (("LIMIT", "not a Python function"), ("Layer.forward", "is inherited"), ("nothing", "has no")):
        fix = lab.fix(f"of-{name}")
        fix.replaces(f"toys.toy:{name}")(lambda self, x: x)
        assert why in refused(lab, fix, toy)


def test_two_replacements_of_one_function_are_one_too_many(lab: Lab) -> None:
    toy, journal = lab.module(text=TEXT), Journal()
    first, second = lab.fix("first"), lab.fix("second")
    for fix in (first, second):

        @fix.replaces("toys.toy:scale")
        def scale(x, factor=2):
            return "replaced"

    journal.install(first, first.targets[0], toy)
    with pytest.raises(Refusal, match="first and second cannot both change scale"):
        journal.install(second, second.targets[0], toy)
    assert toy.scale([]) == "replaced"
    journal.uninstall()
    assert toy.scale([]) == 2


def test_code_changed_by_somebody_else_is_neither_changed_nor_reverted(lab: Lab) -> None:
    toy, journal = lab.module(text=TEXT), Journal()
    first, other = lab.fix("one"), lab.fix("other")
    first.edits("toys.toy:scale", old="return factor", new="return -factor")
    other.edits("toys.toy:scale", old="__X > LIMIT", new="__X >= LIMIT")
    journal.install(first, first.targets[0], toy)
    toy.scale.__code__ = (lambda x, factor=2: "theirs").__code__
    with pytest.raises(Refusal, match="its code was changed since"):
        journal.install(other, other.targets[0], toy)
    assert [lacking(step.reason, "code was changed") for step in journal.uninstall()] == [[]]
    assert toy.scale([]) == "theirs"


def test_a_function_is_found_as_its_file_has_it_or_refused(lab: Lab) -> None:
    toy = lab.module(text=TEXT)
    first = toy.scale.__code__
    lines = code.written(first, "scale", TEXT).text.splitlines()
    # math is an imported name, on which its code depends there
    assert ("import _ as math" in lines) is (sys.version_info >= (3, 11))
    with pytest.raises(Refusal, match="cannot be read from"):
        code.written(first, "rescale", TEXT)
    with pytest.raises(Refusal, match="is not what runs"):
        code.written(first, "scale", TEXT.replace("+ factor", "- factor"))
    with pytest.raises(Refusal, match="does not compile on its own"):
        code.written(first, "scale", TEXT.replace("    return factor", "    continue"))


@pytest.mark.parametrize(
    ("first", "other", "same"),
    [
        ("1", "1", True),
        ("1", "1.0", False),
        ("0.0", "-0.0", False),
        ("1e999 - 1e999", "1e999 - 1e999", True),
        ("x in {1, 2}", "x in {2, 1}", True),
        ("x in {1, 'a'}", "x in {'a', 1}", True),
        ("x in {1, 'a'}", "x in {'b', 1}", False),
        ("x in (1, 2)", "x in (2, 1)", False),
        ("(lambda: 1)", "(1)", False),
        ("x in (1, 2)", "x in (1, 3)", False),
        ("(lambda: 1)", "(lambda: 1)", True),
        ("(lambda: 1)", "(lambda: 2)", False),
        ("x.a", "x.b", False),
        ("x + 1", "x - 1", False),
    ],
)
def test_two_programs_are_the_same_where_they_do_the_same(first: str, other: str, same: bool) -> None:
    codes = [compile(f"def f(x):\n    return {text}\n", "file", "exec").co_consts[0] for text in (first, other)]
    assert code.same_program(*codes) is same


@pytest.mark.skipif(sys.version_info < (3, 11), reason="before 3.11 handlers are instructions")
def test_handlers_of_exceptions_count() -> None:
    namespace: dict[str, types.FunctionType] = {}
    exec("def f(x):\n    try:\n        x()\n    except ValueError:\n        return 1\n    return 2\n", namespace)
    handled: Any = namespace["f"].__code__
    without = handled.replace(co_exceptiontable=b"")
    assert code.same_program(handled, handled.replace())
    assert not code.same_program(handled, without)
    assert not code.same_program(without, handled)


def test_the_owner_of_a_replaced_function_is_reported(lab: Lab) -> None:
    toy, journal = lab.module(text=TEXT), Journal()
    assert standing.foreign(toy, "scale", TEXT, journal) is None
    assert standing.foreign(toy, "Layer", TEXT, journal) is None
    assert lacking(standing.foreign(toy, "nothing", TEXT, journal), "toys.toy", "no nothing") == []
    toy.scale = max
    assert "no longer a" in str(standing.foreign(toy, "scale", TEXT, journal))
    toy.scale = lambda x, factor=2: x
    assert "Somebody else" in str(standing.foreign(toy, "scale", TEXT, journal))


def test_the_methods_of_a_class_are_compared_with_its_file_one_by_one(lab: Lab) -> None:
    toy, journal = lab.module(text=TEXT), Journal()
    assert standing.rewritten(toy, "Layer", TEXT, journal) is None
    assert standing.rewritten(toy, "Base", TEXT.replace("return x\n", "return -x\n"), journal) is not None


def test_a_wrapper_that_says_that_it_wraps_itself_ends_somewhere() -> None:
    def wrapper(self: object) -> int:
        return 1

    vars(wrapper)["__wrapped__"] = wrapper
    assert live.layers(wrapper) == [wrapper]
    assert live.place_of(property(wrapper)).startswith(__file__)
    assert live.place_of(3) == "builtins.int"


def test_decorators_are_found_without_the_decorated_function() -> None:
    text = """
import functools

@one
@two(
    3,
)
# a comment
class Layer:
    @property
    def size(self):
        return "@three"

    def forward(self):
        pass

if functools:
    @under
    def scale(): ...
"""
    decorators = {name: list(map(ast.unparse, source.decorators(text, name))) for name in
             ("Layer", "Layer.size", "Layer.forward", "scale", "nothing")}  # fmt: skip
    assert decorators == {
        "Layer": ["one", "two(3)"], "Layer.size": ["property"], "Layer.forward": [], "scale": ["under"], "nothing": []
    }  # fmt: skip


def test_repeated_questions_about_a_source_parse_it_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *rest: parsed.append(text) or parse(text, *rest))  # type: ignore[func-returns-value]
    text = TEXT + f"# {sys.version_info}\n"
    for _ in range(3):
        assert source.find(text, "Layer.size") is not None
        assert source.imports(text)
    assert len(parsed) == 2  # the whole source once for the property, which occurs twice, and once for the imports
