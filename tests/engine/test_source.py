"""Finding definitions in source, and the digest that must be the same under every Python version."""

from __future__ import annotations

import ast
import textwrap
import warnings

import pytest

from hotfix._support import memo
from hotfix.versions import source

SAMPLE = '''
import functools


def plain(a, /, b: int = 0x10, *args, c=1e3, **kwargs) -> str:
    """A docstring."""
    return f"{a!r:>{b}} {c:.2f}" "tail" f"{kwargs=}" if a else b"\\x00" + b"caf\\xe9"


class Outer:
    limit = -1

    # a comment between
    @functools.lru_cache(
        maxsize=None,
    )
    # and another
    def method(self, x):
        text = """
at column zero
"""
        with open(x) as f, open(text) as g:
            return [*f, *g][1:2, ...] if (n := len(x)) > 1 else {**self.__dict__, "n": n}

    class Inner:
        async def wait(self):
            async for one in self:
                yield one, 1j, ..., None, True

    if limit:
        def conditional(self):
            return 1
    else:
        def conditional(self):
            return 2


try:
    from fast import choose
except ImportError:
    def choose(x):
        match = x
        return match


def twice():
    return 1


def twice():
    return 2
'''

# The values of these digests do not matter. They must be the same on Python 3.9 to 3.13 and in a year, because the
# evidence files consist of them.
DIGESTS = {
    "plain": "3a3e591d2a22ecd51046",
    "Outer.method": "ca3228ab4ae906c8ebb6",
    "Outer.Inner.wait": "f704a47bffaf554a4588",
    "Outer.conditional": "24cab6ed92dfd092be1e",
    "choose": "955ce9b5fdcc3cea8b54",
}


@pytest.mark.parametrize("qualname", DIGESTS)
def test_the_digest_is_the_same_on_every_python(qualname: str) -> None:
    definition = source.find(SAMPLE, qualname)
    assert definition is not None
    assert source.digest(definition.node) == DIGESTS[qualname]


def test_decorators_and_the_comments_between_them_belong_to_the_function() -> None:
    definition = source.find(SAMPLE, "Outer.method")
    assert definition is not None
    assert definition.text.lstrip().startswith("@functools.lru_cache(")
    assert SAMPLE.splitlines()[definition.lineno - 1].strip() == "@functools.lru_cache("


@pytest.mark.parametrize("qualname", ["plain", "Outer.method", "Outer.Inner.wait"])
def test_lines_and_columns_are_those_of_the_file(qualname: str) -> None:
    import ast

    definition = source.find(SAMPLE, qualname)
    assert definition is not None
    everything = {
        (node.lineno, node.col_offset, type(node)) for node in ast.walk(ast.parse(SAMPLE)) if isinstance(node, ast.stmt)
    }
    here = {
        (node.lineno, node.col_offset, type(node)) for node in ast.walk(definition.node) if isinstance(node, ast.stmt)
    }
    assert here <= everything


def test_a_form_feed_before_a_head_counts_as_space() -> None:
    text = "class A:\n    def f(self):\n        return 1\n \x0c    def g(self):\n        return 2\n"
    definitions = [source.find(text, qualname) for qualname in ("A.f", "A.g")]
    assert [definition and definition.node.name for definition in definitions] == ["f", "g"]


def test_of_two_definitions_the_last_counts() -> None:
    definition = source.find(SAMPLE, "twice")
    assert definition is not None
    assert "return 2" in definition.text


SCOPES = """
class Chosen:
    def f(self):
        return 1

    if True:

        def f(self):
            return 2


class Own:
    def g(self):
        # not far in
        def f():
            return 3

        return f

    def f(self):
        return 4
"""


@pytest.mark.parametrize(("qualname", "number"), [("Chosen.f", 2), ("Own.f", 4)])
def test_conditional_definitions_count_and_local_ones_do_not(qualname: str, number: int) -> None:
    definition = source.find(SCOPES, qualname)
    assert definition is not None
    assert f"return {number}" in definition.text


@pytest.mark.parametrize("qualname", ["absent", "Outer.absent", "absent.method", "plain.inner", "fast"])
def test_missing_data_is_none(qualname: str) -> None:
    assert source.find(SAMPLE, qualname) is None


def test_text_that_is_not_python_is_none() -> None:
    assert source.find("def plain(:\n  x", "plain") is None


BASE = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    "same",
    [
        'def f(x):\n    """Say something."""\n    return x + 1\n',
        "def f( x ) :  # comment\n\n    return (x\n            + 1)\n",
        "def f(x,):\n\treturn x + 0x1\n",
    ],
)
def test_comments_docstrings_and_layout_do_not_count(same: str) -> None:
    assert digest(same) == digest(BASE)


@pytest.mark.parametrize(
    "other",
    [
        "def f(x):\n    return x + 1.0\n",
        "def f(x):\n    return x + True\n",
        "def f(x):\n    return 1 + x\n",
        "def f(x, y=None):\n    return x + 1\n",
        "def f(*x):\n    return x + 1\n",
        "@g\ndef f(x):\n    return x + 1\n",
        "def f(x):\n    'a'\n    'b'\n    return x + 1\n",
        "async def f(x):\n    return x + 1\n",
        "def f(x):\n    return x - 1\n",
    ],
)
def test_every_other_change_counts(other: str) -> None:
    assert digest(other) != digest(BASE)


def test_functions_lists_methods_with_their_classes() -> None:
    names = [name for name, _ in source.functions(source.parse(textwrap.dedent(SAMPLE)))]
    assert names == [
        "plain",
        "Outer.method",
        "Outer.Inner.wait",
        "Outer.conditional",
        "Outer.conditional",
        "choose",
        "twice",
        "twice",
    ]


def digest(text: str) -> str:
    definition = source.find(text, "f")
    assert definition is not None
    return source.digest(definition.node)


NAMES = """
from .x import taken, other as renamed
if True:
    __all__ = ["taken"]
    number: int = 1
TABLE: dict = {"linear": taken, **renamed}
class Base:
    def inherited(self): ...
class Class(Base, Foreign):
    own = 1
class Itself(Itself): ...
"""


@pytest.mark.parametrize(
    ("qualname", "expected"),
    [
        ("taken", True),
        ("renamed", True),
        ("number", True),
        ("x", False),
        ("other", False),
        ("Class.own", True),
        ("Class.inherited", True),
        ("Class.foreign", False),
        ("Itself.own", False),
        ("Nothing.own", None),
        ("TABLE['linear']", True),
        ("TABLE['default']", False),
        ("NOTHING['default']", None),
        ("numb", False),
        ("ber", False),
        ("Class.inherit", False),
        ("Nothing.inherit", None),
        ("Foreign.inherit", None),
    ],
)
def test_a_module_has_the_names_that_it_binds(qualname: str, expected: bool | None) -> None:
    assert source.has_name(NAMES, qualname) is expected


def test_a_name_that_occurs_nowhere_needs_no_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str) -> ast.Module:
        parsed.append(text)
        return ast.parse(text)

    monkeypatch.setattr(source, "parse", parse)
    memo.forget()
    assert [source.has_name(NAMES, name) for name in ("numb", "Class.inherit")] == [False, False]
    assert not parsed
    assert source.has_name(NAMES, "Class.own")
    assert parsed


def test_a_lazy_package_has_its_declared_names_and_the_exports_of_its_modules() -> None:
    package = "structure = {'taken': 1}\nmodules = _LazyModule(define_import_structure(here), structure)\n"
    assert source.has_name(package, "taken")
    assert not source.has_name(package, "exported")
    assert source.is_exported(package, "__all__ = ['exported']\nexported = hidden = 1", "exported")
    assert not source.is_exported(package, "__all__ = ['exported']\nexported = hidden = 1", "hidden")
    assert not source.is_exported(package, None, "exported")
    assert not source.is_exported(
        "modules = _LazyModule(structure)", "__all__ = ['exported']\nexported = 1", "exported"
    )


OUTLINES = {
    "a sample": SAMPLE,
    "a head in a string": 'TEXT = """\ndef inside():\n    pass\n"""\nnumber = 1\n',
    "a string that ends at column 0": 'def f():\n    """Text.\nimport no\n"""\n    import inner\n\n\nimport outer\n',
    "quotes in a string of the other kind": "def f():\n    return '''\n\"\"\" def g():\n'''\n\n\nnumber = 1\n",
    "quotes in a comment": 'def f():\n    return 1  # """\n\n\nnumber = 1\n',
    "below if": "if True:\n    import one\n\n    def f():\n        import two\nelse:\n    from c import d as f\n",
    "decorators": "import a\n\n\n@a.b(\n    1,\n)\n# c\nclass C(\n    object,\n):\n    import d\n\n\nx: int = 2\n",
    "on one line": "def f(): return 1\nclass C: pass\nx = y = (1, 2)\n",
    "nothing": "",
}


@pytest.mark.parametrize("name", OUTLINES)
def test_the_outline_binds_and_imports_the_same_as_the_whole(name: str) -> None:
    text = OUTLINES[name]
    whole = source.parse(text)
    imports = [node for node in source._statements(whole) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert set(source._bound(source.outline(text))) == set(source._bound(whole))
    assert [ast.dump(node) for node in source.imports(text)] == [ast.dump(node) for node in imports]


def test_the_outline_has_no_function_bodies() -> None:
    returned = [node for node in ast.walk(source.outline(SAMPLE)) if isinstance(node, ast.Return)]
    assert [ast.unparse(node) for node in returned] == ["return match"]  # below try


ESCAPES = r"""
plain = "\d" '\.' "\\d" "\\\d" 'it\'s \w' "\n\d"
raw = r"\d" R'\.', rb"\w" Rb'\w' bR"\w"
some = b"\d" Rb"\d", f"\d" u"\d"  # "\d
joined = "a" "\
\d" '''
\d ' " \'
''' + 'b'"\d"r"\d" "# no comment \d"
def f(x): return"\d"if x else"\w"
in_a_comment = 1  # it's "\d
quoted = '''\d"''' + "'''\d"
"""


@pytest.mark.parametrize("text", [ESCAPES, "", 'x = """\\d', "x = '\\d\n"], ids=["all", "nothing", "open", "open line"])
def test_escapes_are_found_as_by_the_tokens_of_python(text: str) -> None:
    assert source._with_valid_escapes(text) == source._with_valid_escapes_surely(text)


def test_harmless_escapes_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tree = source.parse(ESCAPES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert ast.dump(tree) == ast.dump(ast.parse(ESCAPES))


@pytest.mark.parametrize("text", [*OUTLINES.values(), "def f():\n    x\n\t\n)\n]\n # c\n\x0c\nx\n", "def f(): x"])
def test_a_block_ends_where_its_lines_say(text: str) -> None:
    lines = source.lines_of(text)
    for head in (each for ones in source._heads(text).values() for each in ones):
        later = range(head.number + 1, len(lines))
        assert source._end(text, head) == next(
            (number for number in later if source._leaves(lines[number], head.indent)), len(lines)
        )


CLASSES = {
    "plain": ["here = 1", "def method(self):", "    below = 2", "    return below", "there: int = 3"],
    "under an if": ["if True:", "    def method(self):", "        below = 2", "else:", "    other = None"],
    "decorated": ["@property", "def method(self):", "    below = 2", "@method.setter", "def method(self, x): ..."],
    "a head in a string": ["def method(self):", '    """', "class Nested:", '    """', "there = 3"],
    "a head in the class's own string": ['"""', "def no():", '    """', "there = 3"],
    "a nested class": ["class Nested:", "    below = 2", "", "    def method(self): ...", "there = 3"],
    "brackets at the margin": ["def method(", "    self,", "):", "    below = (", "1", ")", "there = 3"],
    "asynchronous": ["async def method(self):", "    below = 2", "# a comment", "there = 3"],
}


@pytest.mark.parametrize("body", CLASSES.values(), ids=CLASSES)
def test_the_members_of_a_class_are_those_of_its_whole_tree(body):
    text = "class Owner(\n    Base,\n):\n" + "".join(f"    {line}\n" for line in body) + "after = 4\n"
    whole, scope = ast.parse(text).body[0], source.Module(text).scope("Owner")
    assert isinstance(whole, ast.ClassDef)
    assert isinstance(scope, ast.ClassDef)
    assert source.Module(text).members("Owner") == set(source._bound(whole))
    assert [ast.dump(base) for base in scope.bases] == [ast.dump(base) for base in whole.bases]


def test_a_member_that_methods_set_is_found_on_self_alone():
    body = "self.heads = config.heads\n        other.size = 3"
    text = f"class Attention:\n    def __init__(self, config, other):\n        {body}\n"
    assert source.is_set(text, "Attention.heads")
    assert not source.is_set(text, "Attention.size")
    assert not source.is_set(text, "Other.heads")
    assert source.has_name(text, "Attention.heads") is False
