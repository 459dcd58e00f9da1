"""Does an override of a Trainer's or a model's method only pass on what the library's own method returns?

Frameworks override ``compute_loss`` and ``forward`` to keep metrics, and return the library's loss as it is. A repair
of the library's path holds for them as well. The source of each override is read once; an override without source
counts as the user's own.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
import re
import sys
import types
from collections.abc import Iterator
from typing import Any, Optional

from hotfix._support.memo import weakly
from hotfix.patching import decorated, hooks, scope
from hotfix.patching.scope import _reason
from hotfix.training import _user_code

_CONSTRUCTORS = ("__init__", "__post_init__")
_READING = frozenset(
    """
    append float format gather gather_for_metrics getattr hasattr info int isinstance len log log_metrics print repr
    str tuple type warning
    """.split()
)


def is_library_path(fix: str, owner: Any, name: str) -> bool:
    """Whether a method returns the result of the library's own method of this name.

    Args:
        fix: id of the fix that asks, for the report.
        owner: a Trainer or a model.
        name: of the method.

    Returns:
        True for the library's own method, and for overrides of which each path returns the result of ``super()``.
    """
    return _below_overrides(fix, owner, name, _returns_the_result)


def is_number_passed_on(fix: str, owner: Any, name: str) -> bool:
    """Whether a method uses the number of labels for nothing but the library's own method, or the model.

    Args:
        fix: id of the fix that asks, for the report.
        owner: a Trainer or a model.
        name: of the method.
    """
    return _below_overrides(fix, owner, name, _only_passes_the_number)


def is_number_dropped(trainer: Any, name: str) -> bool:
    """Whether an override takes the number of labels and uses it for nothing, so that no loss is divided by it.

    Args:
        trainer: of the step.
        name: of its method.
    """
    method = getattr(trainer, name, None)
    return _user_code.is_yours(method) and _user_code.is_true_of(method, type(trainer), _drops_the_number)


def is_given_the_number(fix: str, model: Any) -> bool:
    """Whether the forward of a model knows the number of labels: the library's does, and one that names it."""
    if is_library_path(fix, model, "forward"):
        return True
    forward = getattr(model, "forward", None)
    return is_number_named(forward) or _user_code.names(forward, "loss_function")


def is_library_loss(fix: str, model: Any) -> bool:
    """Whether the ``loss_function`` of a model is the library's."""
    function = loss_function_of(model)
    package = str(getattr(_user_code.function_of(function), "__module__", "")).partition(".")[0]
    return package in _user_code.LIKE_THE_LIBRARY or scope.is_own(fix, function)


def loss_function_of(model: Any) -> Any:
    """The ``loss_function`` of a model, or None. The library's property is not read: it warns of unknown models."""
    declared = inspect.getattr_static(model, "loss_function", None)
    losses = sys.modules.get("transformers.loss.loss_utils")
    if losses is None or not isinstance(declared, property) or _reason(declared.fget, "", "transformers"):
        return getattr(model, "loss_function", None)
    given = getattr(model, "_loss_function", None)
    return given if given is not None else losses.LOSS_MAPPING.get(loss_type_of(model), losses.ForCausalLMLoss)


def loss_type_of(model: Any) -> Optional[str]:
    """The name under which the library knows the loss of a model; None where it is not known by its name."""
    losses = sys.modules["transformers.loss.loss_utils"]
    library = [kind.__name__ for kind in type(model).__mro__ if scope.was_written_in("transformers", kind)]
    name = next(iter(library), type(model).__name__)
    declared = getattr(model, "loss_type", None) or getattr(getattr(model, "config", None), "loss_type", None)
    kind = declared if isinstance(declared, str) else name
    known = [kind] if kind in losses.LOSS_MAPPING else re.findall("|".join(losses.LOSS_MAPPING), kind)
    return known[0] if known else None


def is_number_named(function: Any) -> bool:
    """Whether a function of the user's names the number of labels, as an argument or as a text."""
    code = getattr(_user_code.function_of(function), "__code__", None)
    return code is not None and _user_code.NUMBER in (*code.co_varnames, *code.co_consts)


def is_output_passed_on(fix: str, model: Any) -> bool:
    """Whether the hooks of a model change neither its arguments nor its output."""
    changing = [
        _user_code.name_of(hook)
        for kind in ("_forward_hooks", "_forward_pre_hooks")
        for hook in (getattr(model, kind, None) or {}).values()
        if _reason(hook, "", "transformers") and not _only_reads(hook)
    ]
    return not changing or scope.leave_alone(fix, f"{changing[0]}, a hook of the model, is your own")


def is_number_as_counted(fix: str, trainer: Any, name: str) -> bool:
    """Whether an override of the method that counts labels returns the number of the library's own method unchanged.

    Args:
        fix: id of the fix that asks, for the report.
        trainer: of the step.
        name: of the method.
    """
    return _below_overrides(fix, trainer, name, _returns_the_number)


def _below_overrides(fix: str, owner: Any, name: str, passes: Any) -> bool:
    """Whether all overrides of a method pass something on, down to the library's own method."""
    if not _reason(owner, name, "transformers"):
        return True
    namespace = getattr(owner, "__dict__", {})
    holders = [namespace] if name in namespace else []
    for holder in (*holders, *(vars(kind) for kind in type(owner).__mro__)):
        if name not in holder:
            continue
        function = _user_code.function_of(holder[name])
        package = str(getattr(function, "__module__", "")).partition(".")[0]
        around = [each for each in _user_code.layers_of(holder[name]) if each is not function]
        if not all(_decorator_passes(each, owner, passes) for each in around):
            return scope.leave_alone(fix, f"a decorator of {function.__qualname__} is your own")
        if package in _user_code.LIKE_THE_LIBRARY or not _reason(function, "", "transformers"):
            return True
        if not isinstance(function, types.FunctionType) or not passes(function, name, owner):
            return scope.leave_alone(fix, f"{getattr(function, '__qualname__', type(owner).__name__)} is your own")
    return True


def _decorator_passes(decorator: Any, owner: Any, passes: Any) -> bool:
    """Whether a function of the program passes on what the function does that it decorates: ``<plain>``, a variable."""
    if not isinstance(decorator, types.FunctionType):
        return False
    cells = zip(decorator.__code__.co_freevars, decorator.__closure__ or ())
    inner = decorator.__wrapped__  # type: ignore[attr-defined]
    return any(passes(decorator, f"<{name}>", owner) for name, cell in cells if decorated.holds(cell, inner))


def _returns_the_number(function: types.FunctionType, name: str, owner: Any) -> bool:
    return _code_returns_the_number(function.__code__, name)


@functools.cache
def _code_returns_the_number(code: types.CodeType, name: str) -> bool:
    """Whether a method returns what ``super()`` does, or its parts under the names that they were given, in order."""
    definition = _user_code.definition_of(code)
    if definition is None:
        return False
    calls = [node for node in ast.walk(definition) if isinstance(node, ast.Call)]
    if not any(_is_super(call, name) or getattr(call.func, "attr", "") == name for call in calls):
        # It does something else under this name, and somebody else has called the library's method.
        return not name.startswith("<")
    parts = {
        ast.unparse(target)
        for node in ast.walk(definition)
        if isinstance(node, ast.Assign) and _is_super(node.value, name)
        for target in node.targets
    }
    names = {part.strip() for whole in parts for part in whole.strip("()").split(",")}
    stored = [
        node.id
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names
    ]
    returned = [node.value for node in ast.walk(definition) if isinstance(node, ast.Return)]
    return (
        bool(returned)
        and len(stored) == len(set(stored))
        and all(_is_super(value, name) or (value is not None and ast.unparse(value) in parts) for value in returned)
    )


def _only_reads(hook: Any) -> bool:
    """Whether a hook returns nothing, writes into nothing that it was given, and adds no hook to a gradient."""
    return all(map(_code_only_reads, _user_code.layers_of(hook)))


def _code_only_reads(function: Any) -> bool:
    if not isinstance(function, types.FunctionType) or "register_hook" in function.__code__.co_names:
        return False
    return hooks.only_reads(function.__code__)


def _returns_the_result(function: types.FunctionType, name: str, owner: Any) -> bool:
    definition = _user_code.definition_of(function.__code__)
    results = None if definition is None else _kept_results(definition, name)
    if definition is None or results is None:
        return False
    returned = [node.value for node in _reached(definition.body, definition, owner) if isinstance(node, ast.Return)]
    return bool(returned) and all(_is_result(value, results, name) for value in returned)


def _only_passes_the_number(function: types.FunctionType, name: str, owner: Any) -> bool:
    return _code_only_passes_the_number(function.__code__, name)


def _drops_the_number(function: Any, kind: type) -> bool:
    code = getattr(_user_code.function_of(function), "__code__", None)
    definition = None if code is None or not _user_code.is_your_layer(function) else _user_code.definition_of(code)
    if definition is None or function is not _user_code.function_of(function):
        return False
    rest = (definition.args.vararg, definition.args.kwarg)
    names = {_user_code.NUMBER, *(argument.arg for argument in rest if argument is not None)}
    read = (node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    return names.isdisjoint(read) and _user_code.NUMBER in [argument.arg for argument in definition.args.args]


@functools.cache
def _code_only_passes_the_number(code: types.CodeType, name: str) -> bool:
    definition = _user_code.definition_of(code)
    if definition is None:
        return False
    calls = [node for node in ast.walk(definition) if isinstance(node, ast.Call)]
    passed = [
        value
        for call in calls
        if _is_super(call, name) or _is_call_of_the_loss(call, name) or getattr(call.func, "id", "") == "model"
        for value in (*call.args, *(keyword.value for keyword in call.keywords))
    ]
    if name == "training_step":  # whether there is a number decides who divides by what
        compared = [node for node in ast.walk(definition) if isinstance(node, ast.Compare)]
        passed += [node.left for node in compared if _asks_for_none(node)]
    extra = definition.args.kwarg.arg if definition.args.kwarg else ""
    read = [
        node
        for node in ast.walk(definition)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in (_user_code.NUMBER, extra)
    ]
    return all(any(node is value for value in passed) for node in read) and not any(
        isinstance(node, ast.Constant) and node.value == _user_code.NUMBER for node in ast.walk(definition)
    )


def _is_super(node: Any, name: str) -> bool:
    """Whether a node calls the method of this name of ``super()``, or the variable of this name: ``<plain>``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"<{node.func.id}>" == name
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != name:
        return False
    above = node.func.value
    return isinstance(above, ast.Call) and getattr(above.func, "id", "") == "super"


def _is_call_of_the_loss(call: ast.Call, name: str) -> bool:
    """Whether a ``training_step`` calls ``compute_loss``, which is judged by itself."""
    return name == "training_step" and getattr(call.func, "attr", "") == "compute_loss"


def _asks_for_none(node: ast.Compare) -> bool:
    return all(getattr(value, "value", 0) is None for value in node.comparators)


@functools.cache
def _kept_results(definition: ast.FunctionDef, name: str) -> Optional[frozenset[str]]:
    """The variables with the results of ``super()``; None if one of them is changed."""
    results = frozenset(_results(definition, name))
    is_changed = any(_changes(node, results, name) for node in ast.walk(definition))
    return None if is_changed else results


def _results(definition: ast.FunctionDef, name: str) -> Iterator[str]:
    """The local variables that hold the loss of ``super()``, or all that it returned."""
    for node in ast.walk(definition):
        if isinstance(node, ast.Assign) and _is_super(node.value, name):
            for target in node.targets:
                first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
                if isinstance(first, ast.Name):
                    yield first.id


def _changes(node: ast.AST, results: frozenset[str], name: str) -> bool:
    """Whether a node binds one of these variables to something else, or changes in place what it holds."""
    if isinstance(node, ast.Assign):
        return not _is_super(node.value, name) and any(
            isinstance(part, ast.Name) and part.id in results for target in node.targets for part in ast.walk(target)
        )
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, ast.For, ast.NamedExpr)):
        return any(isinstance(part, ast.Name) and part.id in results for part in ast.walk(node.target))
    if isinstance(node, ast.Attribute):  # ``loss.div_(…)``, ``loss.register_hook(…)``, or ``outputs.loss = …``
        in_place = node.attr.endswith("_") or node.attr == "register_hook" or not isinstance(node.ctx, ast.Load)
        return in_place and getattr(node.value, "id", None) in results
    if isinstance(node, ast.Call) and not _is_known_to_read(node.func):
        given = (*node.args, *(keyword.value for keyword in node.keywords))
        return any(isinstance(part, ast.Name) and part.id in results for part in given)
    return False


def _is_known_to_read(function: ast.expr) -> bool:
    """Whether a function that is called only reads its arguments, by its name: ``float``, ``metrics.append``."""
    name = getattr(function, "attr", getattr(function, "id", ""))
    of_torch = isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "torch"
    return name in _READING or (of_torch and not name.endswith("_"))


def _is_result(value: Any, results: frozenset[str], name: str) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_result(value.body, results, name) and _is_result(value.orelse, results, name)
    if isinstance(value, ast.Tuple) and value.elts:
        value = value.elts[0]
    return _is_super(value, name) or getattr(value, "id", None) in results


def _reached(body: list[ast.stmt], definition: ast.FunctionDef, owner: Any) -> Iterator[ast.stmt]:
    """The statements of a body, without branches that an attribute of ``self`` rules out."""
    first = definition.args.args[0].arg if definition.args.args else ""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            continue
        outcome = _truth(statement.test, first, owner) if isinstance(statement, ast.If) else None
        for field, taken in (("body", outcome is not False), ("orelse", outcome is not True), ("finalbody", True)):
            if taken:
                yield from _reached(getattr(statement, field, []), definition, owner)
        for handler in getattr(statement, "handlers", []):
            yield from _reached(handler.body, definition, owner)


def _truth(test: ast.expr, first: str, owner: Any) -> Optional[bool]:
    """Whether ``self.args.something`` holds; None for other expressions, and for what a method sets later."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, first, owner)
        return None if inner is None else not inner
    names = []
    while isinstance(test, ast.Attribute):
        names.append(test.attr)
        test = test.value
    if not names or getattr(test, "id", None) != first:
        return None
    holder, value = None, owner
    for name in reversed(names):
        holder, value = value, _held_as(value, name)
    if not isinstance(value, (bool, int, float, str, type(None))) or _is_set_later(type(holder), names[0]):
        return None
    return bool(value)


def _held_as(owner: Any, name: str) -> Any:
    """The attribute of an object or its class, without descriptors; `Ellipsis` for none."""
    return getattr(owner, "__dict__", {}).get(name, inspect.getattr_static(type(owner), name, ...))


@weakly
def _is_set_later(kind: type, name: str) -> bool:
    """Whether a method of a class, other than a constructor, sets an attribute: such as ``training`` of a module."""
    held = (value for each in kind.__mro__ for value in vars(each).values() if isinstance(value, types.FunctionType))
    codes = (_user_code.function_of(function).__code__ for function in held if function.__name__ not in _CONSTRUCTORS)
    return any(
        step.opname == "STORE_ATTR" and step.argval == name
        for code in codes
        if name in code.co_names
        for step in dis.get_instructions(code)
    )
