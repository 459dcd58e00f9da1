"""Conditional repairs, as syntax: the release's own code stays in the function, next to the repaired code.

There are two forms (`hotfix.fix.Condition`). A guard is evaluated once, at the start of the function, and each edit
becomes ``if guard: new else: old``. A repair on an error puts the function's body into a ``try``. Only if that raises
the declared error are the arguments restored and the repaired body executed. Both bodies are part of one code object,
so ``super()``, closures, signatures and line numbers work as in the release.
"""

from __future__ import annotations

import ast
import builtins
import copy
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

from ..errors import Refusal
from ..fix import Condition, Target
from ..versions import source

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_SCOPE = "hotfix.patching.scope"
_SAVED = "_hotfix_arguments"
_ERROR = "_hotfix_error"


def definition(tree: ast.Module, qualname: str) -> _Function:
    """The function of this qualified name in a tree that has it under its class headers.

    Raises:
        Refusal: there is none.
    """
    body: Sequence[ast.stmt] = tree.body
    node: Optional[ast.stmt] = None
    for part in qualname.split("."):
        named = [statement for statement in body if getattr(statement, "name", None) == part]
        if not named:
            raise Refusal(f"{qualname} is not in the edited source")
        node = named[-1]
        body = getattr(node, "body", [])
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise Refusal(f"{qualname} is not a function in the edited source")
    return node


def either(guard: str, old: Any, new: Any) -> Any:
    """A node for ``new if guard else old``.

    Args:
        guard: name of the local variable that holds the condition.
        old: the release's node, or its statements.
        new: the replacement, of the same kind.

    Raises:
        Refusal: it is neither an expression nor statements.
    """
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        test = ast.copy_location(ast.Name(guard, ast.Load()), old)
        return ast.copy_location(ast.IfExp(test, new, old), old)
    before = [old] if isinstance(old, ast.stmt) else old
    after = [new] if isinstance(new, ast.stmt) else new
    if not before or not all(isinstance(part, ast.stmt) for part in (*before, *after)):
        raise Refusal("an edit with a condition must replace an expression or statements")
    test = ast.copy_location(ast.Name(guard, ast.Load()), before[0])
    filling = ast.copy_location(ast.Pass(), before[0])
    return ast.copy_location(ast.If(test, after or [filling], before), before[0])


def add_guards(function: _Function, guards: Sequence[tuple[str, Target]]) -> None:
    """Evaluate conditions at the beginning of a function, each into its own local variable."""
    statements: list[ast.stmt] = []
    at = function.body[0]
    for name, target in guards:
        statements += _evaluation(name, target, at)
    first = _after_docstring(function)
    function.body[first:first] = statements


def fall_back(function: _Function, repaired: _Function, targets: Sequence[tuple[str, Target]]) -> None:
    """Make a function run its own body first, and that of `repaired` if it raises a declared error.

    Args:
        function: the function, changed in place.
        repaired: the same function after the edits.
        targets: the edits, each with the name of the guard that it also needs, or an empty string.

    Raises:
        Refusal: the function is a generator or a coroutine.
    """
    if isinstance(function, ast.AsyncFunctionDef) or any(_yields(statement) for statement in function.body):
        raise Refusal("a generator or coroutine cannot be repaired on its error: it has run in part by then")
    first = _after_docstring(function)
    own, other = function.body[first:], repaired.body[_after_docstring(repaired) :]
    at = function.body[0]
    patterns = [pattern for _, target in targets for pattern in target.condition.on_error]
    tests = []
    for guard, target in targets:
        test = f"_hotfix_scope.is_declared({_ERROR}, {target.condition.fix!r}, {tuple(target.condition.on_error)!r})"
        tests.append(f"{guard} and {test}" if guard else test)
    save, restore = _saving(function)
    text = f"""
{save}
try:
    pass
except {_classes(patterns)} as {_ERROR}:
    import {_SCOPE} as _hotfix_scope
    if not ({" or ".join(f"({test})" for test in tests)}):
        raise
else:
    return None
{restore}
"""
    made = statements(text, at)
    attempt = next(statement for statement in made if isinstance(statement, ast.Try))
    attempt.body = own
    function.body[first:] = [*made, *other]


def with_body_of(function: _Function, other: _Function, guard: str) -> None:
    """Give a function the body of another one, always or under a guard; all its lines are that of its own header."""
    body = [copy.deepcopy(statement) for statement in other.body[_after_docstring(other) :]]
    for node in (node for statement in body for node in ast.walk(statement)):
        ast.copy_location(node, function)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None  # our modules do not evaluate annotations; the library's modules do
        elif isinstance(node, ast.arg):
            node.annotation = None
    first = _after_docstring(function)
    function.body[first:] = [either(guard, function.body[first:], body)] if guard else body


def statements(text: str, at: ast.AST) -> list[ast.stmt]:
    """Parse statements for an edit to insert; in tracebacks all of them have the line of `at`."""
    written = source.parse(text).body
    for statement in written:
        for node in ast.walk(statement):
            ast.copy_location(node, at)
    return written


# ---------------------------------------------------------------------------------------------------------------------


def _evaluation(name: str, target: Target, at: ast.AST) -> list[ast.stmt]:
    """Statements that store in a local variable whether the repaired code may run."""
    condition = target.condition
    library = target.module.partition(".")[0]
    library = "transformers" if "*" in library else library
    checks = [_own(condition, path, library) for path in condition.own]
    checks += [f"_hotfix_scope.is_in_place({condition.fix!r}, {place!r})" for place in condition.along]
    *before, last = source.parse(textwrap.dedent(condition.when)).body or [ast.parse("True").body[0]]
    if not isinstance(last, ast.Expr):
        raise Refusal(f"{condition.fix}: `when` does not end with an expression")
    lines = [ast.unparse(statement) for statement in before]
    if condition.when:
        checks.insert(0, f"({ast.unparse(last)})")
    if condition.own or condition.along:
        lines.insert(0, f"import {_SCOPE} as _hotfix_scope")  # takes a third of the time of `from ... import`
    text = "\n    ".join((*lines, f"{name} = {' and '.join(checks)}"))
    rescue = f"import {_SCOPE} as _hotfix_scope\n    {name} = _hotfix_scope.undecided({condition.fix!r}, {_ERROR})"
    return statements(f"try:\n    {text}\nexcept Exception as {_ERROR}:\n    {rescue}\n", at)


def _own(condition: Condition, path: str, library: str) -> str:
    owner, _, name = path.rpartition(".")
    if not owner:
        return f"_hotfix_scope.is_class_of({condition.fix!r}, {name}, {library!r})"
    return f"_hotfix_scope.is_own({condition.fix!r}, {owner}, {name!r}, {library!r})"


def _classes(patterns: Iterable[str]) -> str:
    names = sorted({pattern.partition(":")[0].strip() for pattern in patterns})
    known = [name for name in names if isinstance(getattr(builtins, name, None), type)]
    return "Exception" if len(known) < len(names) else f"({', '.join(known)},)"


def _saving(function: _Function) -> tuple[str, str]:
    """Statements that save the arguments that a function reassigns, and statements that restore them."""
    arguments = function.args
    named = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    if arguments.vararg:
        named.append(arguments.vararg.arg)
    bound = {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    kept = [(name, name) for name in named if name in bound]
    if arguments.kwarg:
        kept.append((arguments.kwarg.arg, f"{{**{arguments.kwarg.arg}}}"))
    if not kept:
        return "", ""
    values, names = ", ".join(value for _, value in kept), ", ".join(name for name, _ in kept)
    return f"{_SAVED} = ({values},)", f"({names},) = {_SAVED}"


def _yields(node: ast.AST) -> bool:
    """Whether a statement of a function yields or awaits; nested functions do not count."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)):
        return False
    if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
        return True
    return any(_yields(child) for child in ast.iter_child_nodes(node))


def _after_docstring(function: _Function) -> int:
    return int(ast.get_docstring(function, clean=False) is not None)
