"""`tools.locals`: functions that differ only in the names of their local variables."""

import ast

import pytest

from tools.locals import without_names

SAME = [
    ("def f(a):\n x = a\n return x", "def f(a):\n y = a\n return y"),
    ("def f(a):\n return [one for one in a if one]", "def f(a):\n return [row for row in a if row]"),
    (
        "def f(a):\n for x in a:\n  def g(): return x\n  yield g",
        "def f(a):\n for z in a:\n  def g(): return z\n  yield g",
    ),
    ("def f(a):\n return {k: v for k, v in a}", "def f(a):\n return {key: v for key, v in a}"),
    (
        "class A:\n def m(self):\n  x = 1\n  x += 1\n  return x",
        "class A:\n def m(self):\n  n = 1\n  n += 1\n  return n",
    ),
    (
        "def f():\n x = 1\n class A:\n  y = x\n  def m(self): return x\n return A",
        "def f():\n z = 1\n class A:\n  y = z\n  def m(self): return z\n return A",
    ),
    (
        "def f(a):\n class A:\n  x = 1\n  def m(self): return [x for x in vars(a)]\n return A",
        "def f(a):\n class A:\n  x = 1\n  def m(self): return [y for y in vars(a)]\n return A",
    ),
    ("def f(*a, **b):\n return g(*a, **b)", "def f(*c, **d):\n return g(*c, **d)"),
    ("x = lambda **b: g(**b)", "x = lambda **d: g(**d)"),
    ("def f(a):\n x = {}\n exec(a, x)", "def f(a):\n y = {}\n exec(a, y)"),
]
OTHER = [
    ("def f(a):\n x = a\n return x", "def f(b):\n x = b\n return x"),  # a parameter has callers
    ("def f(a):\n x = a\n return x", "def f(a):\n x = a\n return y"),
    ("def f(a):\n x, y = a\n return x", "def f(a):\n x, y = a\n return y"),
    ("def f(a):\n return [x for x in a]", "def f(a):\n return [a for x in a]"),
    ("x = 1", "y = 1"),
    ("class A:\n x = 1", "class A:\n y = 1"),
    ("def f():\n x = 1\n class A:\n  x = 2\n return A", "def f():\n y = 1\n class A:\n  y = 2\n return A"),
    # A method does not see the names of its class, and a class is not its function.
    (
        "def f(x):\n y = 1\n class A:\n  x = 2\n  def m(self): return x",
        "def f(x):\n y = 1\n class A:\n  x = 2\n  def m(self): return y",
    ),
    ("def f():\n x = 1\n class A:\n  x = 2\n  y = x", "def f():\n z = 1\n class A:\n  x = 2\n  y = z"),
    ("def f(*a, **b):\n return a", "def f(*a, **b):\n return b"),
    ("x = lambda a: a", "x = lambda b: b"),  # it may be called by name
    ("def f():\n __x = 1\n return __x", "def f():\n __y = 1\n return __y"),
    ("def f():\n x = 1\n exec('x')", "def f():\n y = 1\n exec('x')"),
    ("def f():\n x = 1\n return vars()", "def f():\n y = 1\n return vars()"),
    ("def f(g=vars):\n x = 1\n return g()", "def f(g=vars):\n y = 1\n return g()"),
    ("def f():\n global x\n x = 1", "def f():\n global y\n y = 1"),
    ("def f():\n x = 1\n return locals()", "def f():\n y = 1\n return locals()"),
    ("def f():\n x = 1\n return lambda x: x", "def f():\n y = 1\n return lambda x: y"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_names_of_locals_do_not_count(first, second):
    assert numbered(first) == numbered(second)


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_everything_else_counts(first, second):
    assert numbered(first) != numbered(second)


def numbered(text: str) -> str:
    return ast.dump(without_names(ast.parse(text)))
