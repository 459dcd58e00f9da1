"""The check that no function of a cure is the library's: on functions made here, and on the library's own text."""

from __future__ import annotations

import ast
import textwrap
import zipfile

import pytest
from packaging.version import Version

from tools import similarity, wheels

ONE = """
    def scaled(values, factor=1.0):
        '''Scale values.'''
        total: float = 0.0
        for value in values:
            if value is None:
                raise ValueError(f"no value: {values}")
            total += value.item() * factor
        return total
"""
THE_SAME = """
    def sum_of(numbers: list[float], by: float = 2.0) -> float:
        import math

        result = 1.0
        for number in numbers:
            if number is None:
                raise ValueError("a number is missing")
            result += number.item() * by
        return result
"""
ANOTHER = """
    def scaled(values, factor=1.0):
        if None in values:
            raise ValueError("a value is missing")
        return sum(value.item() for value in values) * factor
"""
RENAMED_ATTRIBUTE = ONE.replace("value.item()", "value.mean()")


def functions(text: str) -> dict[str, similarity.Function]:
    return {function.name: function for function in similarity.functions(ast.parse(textwrap.dedent(text)))}


def similarity_of(text: str, other: str) -> float:
    (first,), (second,) = functions(text).values(), functions(other).values()
    return similarity.similarity(first.nodes, second.nodes)


def test_renamed_variables_other_literals_and_annotations_do_not_make_another_body():
    assert similarity_of(ONE, THE_SAME) == 1.0


def test_another_structure_makes_another_body():
    assert similarity_of(ONE, ANOTHER) < similarity.LISTED


def test_another_attribute_makes_a_difference():
    assert similarity.ALLOWED < similarity_of(ONE, RENAMED_ATTRIBUTE) < 1.0


def test_functions_that_cannot_reach_the_limit_are_not_compared(monkeypatch):
    monkeypatch.setattr(similarity, "SequenceMatcher", None)
    assert similarity.similarity(("Name",) * 9, ("Name",), 0.6) == 0.0, "the lengths differ"
    assert similarity.similarity(("Name",) * 9, ("Call",) * 9, 0.6) == 0.0, "the nodes differ"


def test_a_nested_function_is_a_body_of_its_own():
    outer = f"def make(torch):\n{textwrap.indent(textwrap.dedent(ONE), '    ')}    return scaled\n"
    parts = functions(outer)
    assert parts["make.scaled"].nodes == functions(ONE)["scaled"].nodes
    assert parts["make"].nodes == ("definition", "Return", "Name")


def test_methods_carry_the_name_of_their_class():
    assert list(functions("class A:\n    def f(self): ...\n    class B:\n        async def g(self): ...")) == [
        "A.f",
        "A.B.g",
    ]


@pytest.mark.parametrize(
    ("body", "is_short"),
    [
        ("return images and all(is_valid(image) for image in images)", True),
        ("first = self.first()\n    return first", True),
        ("first = self.first(one)\n    return self.second(first, one)", False),
    ],
)
def test_bodies_that_cannot_be_written_in_many_ways_are_left_out(body, is_short):
    assert functions(f"def f(*args):\n    {body}")["f"].is_short is is_short


def test_a_function_is_found_in_every_place_of_a_file(tmp_path):
    text = '''
if flag:
    def in_a_branch(
        one,
    ):
        """Text
def not_code(): pass
        """
        return one

# A comment at the margin.
class Class:
    @decorator
    def method(self):
# another one
        def nested():
            return 1
        return nested

TEXT = """
def nor_this: at all
"""

def last(): return 2
'''
    with zipfile.ZipFile(tmp_path / "transformers-4.40.0-py3-none-any.whl", "w") as archive:
        archive.writestr("transformers/any.py", text)
    library = wheels.catalogue("transformers", wheels.cached("transformers", tmp_path))
    reader = similarity.Reader(library)
    reader.read([0])
    of_whole = {function.nodes for function in similarity.functions(ast.parse(text))}
    assert set(reader.functions_of([0])) == of_whole


def test_an_entry_of_a_fix_leads_to_releases_around_the_bug():
    examined = [Version(f"4.4{number}.0") for number in range(8)]
    entry = {
        "absent": ["4.40.0"],
        "fixed": {"a" * 20: ["4.41.0 - 4.42.0"], "b" * 20: ["4.46.0 and later"]},
        "broken": {"c" * 20: ["4.43.0 - 4.45.0"]},
    }
    places = similarity.places({"transformers.one:f": entry, "*.other:g": entry}, examined)
    assert {str(version) for version, _ in places} == {"4.42.0", "4.43.0", "4.45.0", "4.46.0"}
    assert {module for _, module in places} == {"transformers.one"}


def test_helpers_of_a_cure_belong_to_it():
    texts = {
        "hotfix.names.one": "from hotfix.names import caches\nNEW = 'from hotfix.models._hooks import only_read'",
        "hotfix.names.caches": "from hotfix.names.modules import given_back",
        "hotfix.names.modules": "",
        "hotfix.models._hooks": "",
        "hotfix.names.another": "",
    }
    assert similarity.modules_of("hotfix.names.one", texts) == set(texts) - {"hotfix.names.another"}


# -- the library's own text --------------------------------------------------------------------------------------------

COPIED = {
    "cached-property-and-small-names-removed": ("4.50.3", "transformers/utils/generic.py", "cached_property.__get__"),
    "apply-chunking-removed": ("4.57.6", "transformers/pytorch_utils.py", "prune_layer"),
    "adamw-removed": ("4.49.0", "transformers/optimization.py", "AdamW.step"),
}


class Renamed(ast.NodeTransformer):
    """The variables of a function under other names."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"our_{node.id}", node.ctx)


def text_of_library(release: str, member: str, qualname: str) -> str:
    """A function of a release, with other names for its variables, and no docstring."""
    there = wheels.cached("transformers", wheels.default_cache())
    if Version(release) not in there:
        pytest.skip(f"the wheel of transformers {release} is not in {wheels.default_cache()}")
    with zipfile.ZipFile(there[Version(release)]) as archive:
        node: ast.AST = ast.parse(archive.read(member))
    for name in qualname.split("."):
        node = next(child for child in ast.iter_child_nodes(node) if getattr(child, "name", "") == name)
    assert isinstance(node, ast.FunctionDef)
    copied = ast.FunctionDef("ours", node.args, node.body[ast.get_docstring(node) is not None :], [], lineno=1)
    return ast.unparse(Renamed().visit(ast.fix_missing_locations(copied)))


@pytest.mark.parametrize("id", COPIED)
def test_text_of_the_library_is_refused(id):
    module = f"hotfix.names.{id.replace('-', '_')}"
    texts = {**similarity.cures(), module: text_of_library(*COPIED[id])}
    try:
        matches = similarity.examine(texts, [id])
    except wheels.CannotFetch as error:
        pytest.skip(f"a wheel of transformers is missing: {error}")
    (problem,) = similarity.problems(matches, similarity.ONLY_WAY, complete=False)
    assert f"{module}:ours" in problem
    assert similarity.problems(matches, {f"{module}:ours": "Any reason."}, complete=False) == []


def test_a_reason_that_is_not_needed_is_a_problem():
    (problem,) = similarity.problems([], {"hotfix.names.gone:made": "Any reason."})
    assert "remove the entry" in problem
    assert similarity.problems([], {"hotfix.names.gone:made": "Any reason."}, complete=False) == []


@pytest.mark.slow
def test_no_cure_has_the_text_of_the_library(capsys):
    try:
        status = similarity.main([])
    except wheels.CannotFetch as error:
        pytest.skip(f"a wheel of transformers is missing: {error}")
    assert status == 0, capsys.readouterr().err
