"""By what does code of the program divide the loss that it returns? The source of each function is read once."""

from __future__ import annotations

import ast
import functools
import inspect
import types
from collections.abc import Iterable, Iterator
from typing import Any

from hotfix._support.memo import weakly
from hotfix.patching import scope
from hotfix.patching.scope import _reason
from hotfix.training import _scaling, _user_code

_DIVIDING = ("div", "div_", "divide", "true_divide")
_SCALING = (*_DIVIDING, "mul", "mul_", "multiply")
# Calls that take a number out of the autograd graph, such as that of a metric.
_LEAVING = ("item", "detach", "tolist", "numpy", "float", "int", "len")


def divides_by_steps(function: Any, owner: Any) -> bool:
    """Whether the result of a function of the program was divided by the number of micro-batches.

    The divisor is an expression with a name for this number, or a variable that was set to one. Strings elsewhere,
    docstrings, other variables and metrics do not count.

    Args:
        function: the function; those of its module that make its result are looked into as well.
        owner: has the methods that it may call.
    """
    return _user_code.is_true_of(function, type(owner), _divides_by_steps)


def scales_its_loss(fix: str, model: Any) -> bool:
    """Whether a forward of the program divides or multiplies what ``loss_function`` returns, or cannot be read.

    Args:
        fix: id of the fix that asks, for the report.
        model: with the forward.
    """
    forward = _user_code.function_of(getattr(model, "forward", None))
    if not _reason(forward, "", "transformers") or not _user_code.names(forward, "loss_function"):
        return False
    definition = _user_code.definition_of(forward.__code__)
    if definition is None or _scales_a_loss(definition):
        return not scope.leave_alone(fix, f"{forward.__qualname__} is your own, and scales its loss")
    return False


@functools.cache
def _scales_a_loss(definition: ast.FunctionDef) -> bool:
    pairs = list(_assignments(definition, ""))
    losses: set[str] = set()
    for _ in pairs:
        losses |= {name for name, value in pairs if _has_a_loss(value, losses)}
    return any(
        any(_has_a_loss(operand, losses) for operand in _operands(node, (ast.Div, ast.Mult), _SCALING))
        for node in ast.walk(definition)
    )


def _has_a_loss(expression: ast.AST, losses: set[str]) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in losses) or getattr(node, "attr", "") == "loss_function"
        for node in _parts(expression)
    )


def _divides_by_steps(function: Any, kind: type) -> bool:
    while isinstance(function, functools.partial):
        function = _user_code.function_of(function.func)
    layers = _user_code.layers_of(function)
    todo = [(each, layer, frozenset[str]()) for layer in layers for each in _definitions(layer)]
    seen = set()
    while todo:
        definition, function, given = todo.pop()
        if (id(definition), given) in seen:
            continue
        seen.add((id(definition), given))
        pairs = list(_assignments(definition, _first(definition)))
        counts = (name for name, called in _calls(definition, function, kind) if _returns_steps(called))
        steps = _names_of_steps(pairs, given | _attributes_of_steps(kind) | set(counts))
        for node in _made_of(definition, pairs):
            divisors = _operands(node, (ast.Div,), _DIVIDING)[1:]
            if any(_names_steps(divisor, steps) for divisor in divisors):
                return True
            if isinstance(node, ast.Call):
                called = _called(node, function, kind)
                todo += [(each, called, frozenset(_given(node, each, steps))) for each in _definitions(called)]
    return False


def _calls(definition: ast.FunctionDef, function: Any, kind: type) -> Iterator[tuple[str, Any]]:
    """The functions that a definition calls, each with the variable, or the attribute of ``self``, that holds it."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), _called(node, function, kind)


def _returns_steps(function: Any) -> bool:
    """Whether a function returns the number of micro-batches, such as one of ``args``."""
    returned = [
        node.value for each in _definitions(function) for node in ast.walk(each) if isinstance(node, ast.Return)
    ]
    return bool(returned) and all(value is not None and _is_steps(value, frozenset()) for value in returned)


def _called(call: ast.Call, function: Any, kind: type) -> Any:
    """The function of the same module, or the method of a class, that a call in a function calls; else None."""
    name = _user_code.called_name(call)
    if isinstance(call.func, ast.Name):
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        full = name in cells and _user_code.is_full(cells[name])
        held = cells[name].cell_contents if full else function.__globals__.get(name)
    else:
        held = inspect.getattr_static(kind, name, None) if ast.unparse(call.func) == f"self.{name}" else None
    while isinstance(held, functools.partial):
        held = held.func
    inner = _user_code.function_of(held) if isinstance(held, (types.FunctionType, types.MethodType)) else None
    return inner if getattr(inner, "__module__", None) == function.__module__ else None


def _definitions(function: Any) -> list[ast.FunctionDef]:
    """The definition of a function; of a lambda, as a definition, those in its line with the same arguments."""
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    if code.co_name != "<lambda>":
        definition = _user_code.definition_of(code)
        return [] if definition is None else [definition]
    return list(_lambdas(code))


@functools.cache
def _lambdas(code: types.CodeType) -> tuple[ast.FunctionDef, ...]:
    try:
        tree = ast.parse("".join(inspect.findsource(code)[0]))
    except (OSError, SyntaxError):
        return ()
    count = code.co_argcount + code.co_kwonlyargcount
    return tuple(
        ast.FunctionDef(name="", args=node.args, body=[ast.Return(node.body)], decorator_list=[], returns=None)
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno
        if [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        == list(code.co_varnames[:count])
    )


@weakly
def _attributes_of_steps(kind: type) -> frozenset[str]:
    """The attributes of ``self`` that methods of the program's classes set to the number of micro-batches."""
    functions = (_user_code.function_of(value) for each in kind.__mro__ for value in list(vars(each).values()))
    definitions = (
        _user_code.definition_of(function.__code__)
        for function in functions
        if type(function) is types.FunctionType and _reason(function, "", "transformers")
        if not str(function.__module__).startswith("torch.")
    )
    pairs = (pair for each in definitions if each is not None for pair in _assignments(each, _first(each)))
    return frozenset(name for name, value in pairs if name.startswith("self.") and _is_steps(value, frozenset()))


def _names_of_steps(pairs: list[tuple[str, ast.AST]], known: frozenset[str]) -> frozenset[str]:
    """The variables that hold the number of micro-batches, with those that are known to."""
    for _ in pairs:
        more = known | {name for name, value in pairs if _is_steps(value, known)}
        if more == known:
            break
        known = more
    return known


def _is_steps(value: ast.AST, known: frozenset[str]) -> bool:
    """Whether a value is the number of micro-batches or derived from it, and not a quotient."""
    divides = any(isinstance(getattr(node, "op", None), ast.Div) for node in ast.walk(value))
    return not divides and not isinstance(value, ast.Constant) and _names_steps(value, known)


def _names_steps(expression: ast.AST, known: frozenset[str]) -> bool:
    return bool(_scaling.OF_STEPS.search(ast.unparse(expression))) or not known.isdisjoint(_names(expression, "self"))


def _given(call: Any, called: ast.FunctionDef, steps: frozenset[str]) -> Iterator[str]:
    """The parameters of a function that a call gives the number of micro-batches."""
    names = [argument.arg for argument in (*called.args.posonlyargs, *called.args.args)]
    is_method = isinstance(call.func, ast.Attribute) and names[:1] == ["self"]
    for name, value in zip(names[is_method:], call.args):
        if _names_steps(value, steps):
            yield name
    for keyword in call.keywords:
        if keyword.arg and _names_steps(keyword.value, steps):
            yield keyword.arg


# ---------------------------------------------------------------------------------------------------------------------
# Below: the source of a function.


def _first(definition: ast.FunctionDef) -> str:
    """The name of ``self`` in a method; empty in a function."""
    return "self" if [argument.arg for argument in definition.args.args][:1] == ["self"] else ""


def _made_of(definition: ast.FunctionDef, pairs: list[tuple[str, ast.AST]]) -> Iterator[ast.AST]:
    """The parts of all expressions that flow into what a function returns."""
    first = _first(definition)
    made: list[ast.AST] = [
        node.value for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value is not None
    ]
    for expression in made:  # it grows
        yield from _parts(expression)
        wanted = set(_names(expression, first))
        made += [value for name, value in pairs if name in wanted and not any(value is other for other in made)]


def _assignments(definition: ast.FunctionDef, first: str) -> Iterator[tuple[str, ast.AST]]:
    """Variables, or attributes of ``self``, and what changes them: values, and whole statements such as ``x /= 2``."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign):
            pairs = (pair for target in node.targets for pair in _pairs(target, node.value))
            yield from ((name, value) for target, value in pairs for name in _targets(target, first))
        elif isinstance(node, ast.AugAssign):
            yield from ((name, node) for name in _targets(node.target, first))
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            yield from ((name, node.value) for name in _targets(node.target, first))
        elif isinstance(node, ast.For):
            yield from ((name, node.iter) for name in _targets(node.target, first))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # ``loss.div_(2)``, ``losses.append(x)``
            yield from ((name, node.value) for name in _targets(getattr(node.value.func, "value", node.value), first))


def _pairs(target: ast.AST, value: ast.AST) -> Iterable[tuple[ast.AST, ast.AST]]:
    """The parts of ``a, b = 1, 2``."""
    many = (ast.Tuple, ast.List)
    if isinstance(target, many) and isinstance(value, many) and len(target.elts) == len(value.elts):
        return zip(target.elts, value.elts)
    return [(target, value)]


def _targets(target: ast.AST, first: str) -> Iterator[str]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _targets(part, first)
        return
    while isinstance(target, (ast.Attribute, ast.Subscript, ast.Starred)):
        if isinstance(target, ast.Attribute) and _is_self(target.value, first):
            yield ast.unparse(target)
            return
        target = target.value
    if isinstance(target, ast.Name) and not _is_self(target, first):
        yield target.id


def _is_self(node: ast.AST, first: str) -> bool:
    return isinstance(node, ast.Name) and bool(first) and node.id == first


def _names(expression: ast.AST, first: str) -> Iterable[str]:
    """The variables that an expression reads, and the attributes of ``self``."""
    for node in _parts(expression):
        if isinstance(node, ast.Attribute) and _is_self(node.value, first):
            yield ast.unparse(node)
        elif isinstance(node, ast.Name) and not _is_self(node, first):
            yield node.id


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, without calls whose result has no gradient."""
    if isinstance(node, ast.Call) and _user_code.called_name(node) in _LEAVING:
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _parts(child)


def _operands(node: ast.AST, operators: tuple[type[ast.operator], ...], calls: tuple[str, ...]) -> list[ast.AST]:
    """The two operands of a product or quotient: an operator, an assignment with one, or a call; else none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, operators):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign) and isinstance(node.op, operators):
        return [node.target, node.value]
    if isinstance(node, ast.Call) and _user_code.called_name(node) in calls and node.args:
        return [node.args[0] if len(node.args) > 1 else getattr(node.func, "value", node.args[0]), node.args[-1]]
    return []
