"""Semantic patches: which code a piece matches, what replaces it, and the line numbers of the result."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import pytest

from hotfix import pattern
from hotfix.errors import Refusal
from hotfix.fix import Fix, Target
from hotfix.patching import code
from hotfix.pattern import Rewrite


def parsed(text):
    return ast.parse(textwrap.dedent(text))


def applied(rewrite, text):
    """The source after a rewrite, as `ast.unparse` writes it, and the counts."""
    tree, counts = rewrite.apply(parsed(text))
    return ast.unparse(ast.fix_missing_locations(tree)), counts


def same(text):
    return ast.unparse(parsed(text))


def changed(old, new, text):
    """The source after a rewrite that matches once."""
    after, counts = applied(Rewrite(old, new), text)
    assert counts == [1]
    return after


def occurs(piece, text):
    """Whether a piece matches, with a rewrite as with a matcher."""
    occurs = pattern.occurs(piece, parsed(text))
    assert occurs == Rewrite(piece, "something").occurs_in(parsed(text))
    return occurs


@pytest.mark.parametrize(
    ("rewrite", "text", "may"),
    [
        (Rewrite("a.b(__X)", "c(__X)"), "a.other(b)", True),
        (Rewrite("a.b(__X)", "c(__X)"), "a.other(1)", False),
        (Rewrite(("one()", "two()"), ("1", "2")), "one()", False),
        (Rewrite(("one()", "two()"), ("1", "2"), alternatives=True), "one()", True),
        (Rewrite("one()", "1", beside="two()"), "one()", False),
        (Rewrite("one()", "1", unless="two()"), "one()", True),
    ],
)
def test_a_text_that_lacks_a_name_of_the_piece_cannot_have_it(rewrite, text, may):
    assert rewrite.may_occur_in(text) is may
    assert may or not rewrite.occurs_in(parsed(text))


# -- matches of a piece ------------------------------------------------------------------------------------------------


def test_an_expression_is_changed_at_any_place():
    text = "def f(x, *, y=a.b):\n    with g(x) as h:\n        return [a.b for one in x if a.b]"
    after, counts = applied(Rewrite("a.b", "c"), text)
    assert counts == [3]
    assert after == same("def f(x, *, y=c):\n    with g(x) as h:\n        return [c for one in x if c]")


def test_syntax_is_compared_and_not_text():
    assert occurs("f('a', b)", 'f(\n    "a",  # why\n    (b),\n)')
    assert occurs("x[0] = 1", "(x[0]) = 0x1")


@pytest.mark.parametrize(
    ("old", "text"),
    [
        ("f(a)", "f(a, b)"),
        ("f(a, b)", "f(a)"),
        ("f(a)", "f(a=a)"),
        ("f(b=1)", "f(c=1)"),
        ("x + 1", "x - 1"),
        ("1", "True"),
        ("1", "1.0"),
        ("a.b", "a.c"),
        ("x is None", "x is not None"),
        ("if a:\n    b", "if a:\n    b\nelse:\n    c"),
        ("a = 1\nb = 2", "a = 1\nc = 3\nb = 2"),
        ("a = 1", "a: int = 1"),
        ("a = __X", "a += 1"),
    ],
)
def test_another_thing_is_not_taken_for_it(old, text):
    assert not occurs(old, text)


def test_a_variable_is_the_same_one_where_it_is_read_and_where_it_is_written():
    after, counts = applied(Rewrite("x", "y"), "x = x + 1")
    assert (after, counts) == ("y = y + 1", [2])


def test_statements_are_changed_where_they_follow_each_other():
    text = """
        def f():
            if x:
                a = 1
                b = 2
                c = 3
            a = 1
    """
    after = changed("a = 1\nb = 2", "d = 4", text)
    assert after == same(text.replace("a = 1\n                b = 2", "d = 4"))


@pytest.mark.parametrize(
    "block",
    [
        "if x:\n    {}",
        "if x:\n    y\nelse:\n    {}",
        "if x:\n    y\nelif z:\n    {}",
        "for x in y:\n    {}",
        "for x in y:\n    z\nelse:\n    {}",
        "while x:\n    {}",
        "with x:\n    {}",
        "try:\n    {}\nfinally:\n    y",
        "try:\n    y\nexcept E:\n    {}",
        "try:\n    y\nfinally:\n    {}",
        "class C:\n    def f(self):\n        {}",
        "async def f():\n    {}",
    ],
)
def test_statements_are_found_in_every_kind_of_block(block):
    assert changed("a = 1", "a = 2", block.format("a = 1")) == same(block.format("a = 2"))


def test_one_statement_may_become_several():
    assert changed("return a", "b = a\nreturn b", "def f():\n    return a") == same("def f():\n    b = a\n    return b")


def test_an_expression_that_becomes_statements_is_matched_as_a_statement():
    assert changed("f(x)", "y = 1\nf(y)", "f(x)\ng(f(x))") == "y = 1\nf(y)\ng(f(x))"


# -- placeholders ------------------------------------------------------------------------------------------------------


def test_a_placeholder_matches_any_expression_and_is_carried_over():
    assert changed("f(__X, 1)", "g(__X)", "y = f(a[0].b + c, 1)") == "y = g(a[0].b + c)"
    assert changed("f(__A, __B2)", "f(__B2, __A)", "f(1, 2)") == "f(2, 1)"
    assert changed("__X = 1", "__X = 2", "a.b[c] = 1") == "a.b[c] = 2"


def test_a_placeholder_matches_the_same_expression_each_time():
    assert changed("__X + __X", "2 * __X", "a.b + a.b") == "2 * a.b"
    assert not occurs("__X + __X", "a.b + a.c")
    assert changed("__X", "f(__X)", "__x") == "f(__x)"


@pytest.mark.parametrize("name", ["X", "_X", "__x", "__X__", "__Xy", "__"])
def test_another_name_is_no_placeholder(name):
    assert not occurs(f"f({name})", "f(a)")
    assert occurs(f"f({name})", f"f({name})")


def test_a_placeholder_matches_any_number_of_arguments():
    rewrite = Rewrite("f(x, *__REST, **__OPTIONS)", "g(*__REST, x, **__OPTIONS, y=1)")
    for text, expected in {
        "f(x)": "g(x, y=1)",
        "f(x, 1, *a)": "g(1, *a, x, y=1)",
        "f(x, b=2, **c)": "g(x, b=2, **c, y=1)",
        "f(x, 1, b=2)": "g(1, x, b=2, y=1)",
    }.items():
        assert applied(rewrite, text) == (expected, [1])
    assert not rewrite.occurs_in(parsed("f(1, x)"))


def test_arguments_after_a_wildcard_must_be_present():
    assert changed("f(*__FIRST, x, **__REST, y=1)", "f(*__FIRST, **__REST)", "f(a, b, x, c=2, y=1)") == "f(a, b, c=2)"
    assert not occurs("f(*__FIRST, x)", "f(x, a)")
    assert not occurs("f(*__FIRST, x)", "f()")


def test_any_number_of_arguments_are_the_same_ones_each_time():
    assert changed("f(*__A) + g(*__A)", "h(*__A)", "f(1, b) + g(1, b)") == "h(1, b)"
    assert not occurs("f(*__A) + g(*__A)", "f(1, b) + g(1, c)")


def test_any_number_of_elements():
    assert changed("[a, *__REST]", "(*__REST, b)", "x = [a, 1, 2]") == "x = (1, 2, b)"


def test_a_placeholder_matches_any_number_of_statements():
    old = "if __A:\n    x = 1\n    *__BETWEEN\n    y = 2\nelse:\n    *__OTHERS"
    new = "if __A and b:\n    *__BETWEEN\n    y = 3\nelse:\n    *__OTHERS"
    for between in ("", "    p = 1\n", "    p = 1\n    if q:\n        r\n"):
        for others in ("", "else:\n    s = 1\n    t = 2\n", "elif u:\n    v\n"):
            text = f"if a:\n    x = 1\n{between}    y = 2\n{others}"
            assert changed(old, new, text) == same(f"if a and b:\n{between}    y = 3\n{others}")
    assert not occurs(old, "if a:\n    y = 2\n    x = 1")


# -- several pieces ----------------------------------------------------------------------------------------------------


def test_all_of_several_pieces_have_to_be_there():
    rewrite = Rewrite(("a", "b = 1"), ("c", "b = 2"))
    assert applied(rewrite, "b = 1\nf(a, a)") == ("b = 2\nf(c, c)", [2, 1])
    assert rewrite.occurs_in(parsed("b = 1\nf(a)"))
    assert rewrite.occurs_in(parsed("f(a)"), parsed("b = 1"))
    assert not rewrite.occurs_in(parsed("f(a)"))
    assert not rewrite.occurs_in()


def test_one_of_several_alternatives_has_to_be_there():
    rewrite = Rewrite(("f(a)", "f(a, __B)"), ("g(a)", "g(a, __B)"), alternatives=True)
    assert applied(rewrite, "f(a)") == ("g(a)", [1])
    assert applied(rewrite, "f(a, 2)") == ("g(a, 2)", [1])
    assert applied(rewrite, "f(a) + f(a, 2)") == ("g(a) + g(a, 2)", [2])
    assert rewrite.occurs_in(parsed("f(a)"))
    assert not rewrite.occurs_in(parsed("f(b)"))


def test_required_context_is_matched_and_left_unchanged():
    rewrite = Rewrite("a", "b", beside=("f(__X, a)", "c = 1"))
    assert rewrite.occurs_in(parsed("a"), parsed("f(1, a)\nc = 1"))
    assert not rewrite.occurs_in(parsed("a"), parsed("f(1, a)"))
    assert not rewrite.occurs_in(parsed("c = 1"))
    assert applied(rewrite, "x = a\nc = 1") == ("x = b\nc = 1", [1])


# -- insertions --------------------------------------------------------------------------------------------------------


def test_inserted_code_is_not_searched_again():
    assert changed("a", "f(a, a)", "x = a") == "x = f(a, a)"
    assert changed("a = 1", "a = 1\na = 1", "a = 1") == "a = 1\na = 1"
    assert changed("f(__X)", "f(g(__X))", "f(f(1))") == "f(g(f(1)))"


def test_nothing_matches_if_the_new_piece_is_present():
    guarded = Rewrite("s.to(__D)", "s.to(__D) if s is not None else None")
    repaired = "f(s.to(d) if s is not None else None)"
    assert applied(guarded, "f(s.to(d))") == (repaired, [1])
    assert applied(guarded, repaired) == (repaired, [0])
    assert not guarded.occurs_in(parsed(repaired))
    assert applied(guarded, f"{repaired}\ns.to(d)")[1] == [1]
    longer = Rewrite("a = 1", "a = 1\nb = f(a)")
    assert applied(longer, "a = 1\nb = f(a)\na = 1\nc") == ("a = 1\nb = f(a)\na = 1\nb = f(a)\nc", [1])
    nested = Rewrite("a = 1", "if x:\n    a = 1")
    assert applied(nested, "if x:\n    a = 1") == ("if x:\n    a = 1", [0])


def test_where_statements_are_taken_out_a_pass_stays():
    assert changed("a = 1\nb = 2", "", "def f():\n    a = 1\n    b = 2") == "def f():\n    pass"
    assert changed("a = 1", "", "if x:\n    a = 1\n    b = 2") == "if x:\n    pass\n    b = 2"


def test_looking_changes_nothing():
    tree = parsed("a = 1\nf(x)")
    before = ast.dump(tree, include_attributes=True)
    assert Rewrite(("a = 1", "f(__X)"), ("", "g(__X)")).occurs_in(tree)
    assert ast.dump(tree, include_attributes=True) == before


def test_code_inserted_twice_is_two_trees():
    tree, _ = Rewrite("f(__X)", "__X + __X").apply(parsed("f(a)"))
    assert tree.body[0].value.left is not tree.body[0].value.right


def lines(tree):
    """The line of each statement and each constant, those of an outer block first."""
    numbered = [node for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.Constant))]
    return [(ast.unparse(node).partition("\n")[0], node.lineno) for node in numbered]


def test_inserted_code_has_the_line_of_the_code_it_replaces():
    tree, _ = Rewrite("f(__X)", "g(7,\n\n__X)").apply(parsed("a = 1\nb = (2,\n  f(\n    3))"))
    assert lines(tree) == [("a = 1", 1), ("b = (2, g(7, 3))", 2), ("1", 1), ("2", 2), ("7", 3), ("3", 4)]


def test_statements_that_only_move_keep_their_lines():
    tree, _ = Rewrite("a = 1\nb = 2", "b = 2\nc = 3\na = 1").apply(parsed("x\na = 1\nb = 2\ny"))
    moved = [("x", 1), ("b = 2", 3), ("c = 3", 2), ("a = 1", 2), ("y", 4)]
    assert [line for line in lines(tree) if line[0] in dict(moved)] == moved


def test_statements_inside_of_others_keep_their_lines_too():
    old = "if x:\n    raise __E\nelse:\n    y = __D"
    tree, _ = Rewrite(old, old.replace("else:", "elif z:")).apply(
        parsed("if x:\n    # why\n    raise e\nelse:\n    y = 1")
    )
    assert lines(tree) == [("if x:", 1), ("raise e", 3), ("if z:", 1), ("y = 1", 5), ("1", 5)]


def test_a_pass_replaces_removed_statements():
    tree, _ = Rewrite("a = 1\nb = 2", "").apply(parsed("x\na = 1\nb = 2\ny"))
    assert lines(tree) == [("x", 1), ("pass", 2), ("y", 4)]


def test_a_changed_tree_compiles_and_runs():
    tree, _ = Rewrite("__X // 2", "__X / 2").apply(parsed("def half(x):\n    return x // 2"))
    names: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(tree), "test", "exec"), names)
    assert names["half"](3) == 1.5


# -- as the edit of a fix ----------------------------------------------------------------------------------------------


def edited(rewrite, text, count=1):
    target = Target("module", "f", method="edit", implementation=rewrite, occurrences=count)
    return ast.unparse(code.edited_tree(parsed(text), target))


def test_each_piece_has_to_occur_as_often_as_the_target_says():
    assert edited(Rewrite("a", "b"), "f(a, a)", count=2) == "f(b, b)"
    for text in ("f(a)", "f(a, a, a)", "f()"):
        with pytest.raises(Refusal, match=rf"matches {text.count('a')} times, not 2"):
            edited(Rewrite("a", "b"), text, count=2)
    with pytest.raises(Refusal, match="matches 0 times, not 1"):
        edited(Rewrite(("a", "c"), ("b", "d")), "f(a)")


def test_alternatives_are_counted_together():
    rewrite = Rewrite(("a", "c"), ("b", "d"), alternatives=True)
    assert edited(rewrite, "f(c)") == "f(d)"
    assert edited(rewrite, "f(a, c)", count=2) == "f(b, d)"
    with pytest.raises(Refusal, match="matches 2 times, not 1"):
        edited(rewrite, "f(a, c)")


def test_a_fix_judges_source_by_the_rewrite_of_the_target():
    fix = Fix(id="two-places", title="Two places", kind="silent")
    fix.edits("module:f", old="value.dtype", new="query.dtype", beside="query.float()")
    fix.edits("module:g", old="wrong", new="right")
    of_f, of_g = fix.targets
    assert fix.is_broken(parsed("value.dtype\nquery.float()"), target=of_f)
    assert not fix.is_broken(parsed("value.dtype"), target=of_f)
    assert not fix.is_broken(parsed("wrong"), target=of_f)
    assert fix.is_broken(parsed("wrong"), target=of_g)
    assert fix.is_broken(parsed("wrong"))
    assert fix.prefilters() == ("dtype", "wrong")


def test_a_fix_says_which_of_its_pieces_is_wrong():
    fix = Fix(id="no-python", title="No Python", kind="silent")
    with pytest.raises(ValueError, match=r"no-python: not Python: 'a b'"):
        fix.edits("module:f", old="a b", new="a")
    assert fix.targets == []


# -- prefilters and errors ---------------------------------------------------------------------------------------------


def test_the_prefilter_is_the_longest_word_that_every_match_has():
    assert Rewrite("short.longer_name(__VERY_LONG_PLACEHOLDER)", "x").prefilter == "longer_name"
    assert Rewrite(("f(keyword=1)", "g"), ("x", "x")).prefilter == "keyword"
    assert Rewrite(("f(first_form, b)", "g(second_form, b, f)"), ("x", "x"), alternatives=True).prefilter == "b"
    assert Rewrite(("f(a)", "g(b)"), ("x", "x"), alternatives=True).prefilter == ""
    assert Rewrite("__A + 1", "__A").prefilter == ""


def test_a_fix_tells_no_prefilter_where_one_of_its_rewrites_has_none():
    fix = Fix(id="two-forms", title="Two forms", kind="silent")
    fix.edits("module:f", old=("f(a)", "g(b)"), new=("x", "x"), alternatives=True)
    fix.edits("module:g", old="wrong", new="right")
    assert fix.prefilters() == ()


@pytest.mark.parametrize(
    ("old", "new", "error", "words"),
    [
        ("f(", "g", SyntaxError, "not Python"),
        ("f", "g(", SyntaxError, "not Python"),
        (("a", "b"), "c", ValueError, "2 old pieces and 1 new ones"),
        ("f(__X)", "f(__X, __Y)", ValueError, "has __Y, which"),
        ("", "a", ValueError, "an old piece is empty"),
        ("# nothing", "a", ValueError, "an old piece is empty"),
        ("f(*__A, *__B)", "f(*__A)", ValueError, "two placeholders for any number in one list"),
        ("if x:\n    *__A\n    y\n    *__B", "y", ValueError, "two placeholders for any number in one list"),
        ("*__A\nx = 1", "*__A", ValueError, "inside a block"),
    ],
)
def test_pieces_that_cannot_be_are_refused(old, new, error, words):
    with pytest.raises(error, match=words):
        Rewrite(old, new)


def test_indentation_of_a_piece_does_not_count():
    old = """
        if a:
            b = 1
    """
    assert changed(old, "b = 1", "if a:\n    b = 1") == "b = 1"
