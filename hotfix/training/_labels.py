"""Does code of the program move, extend or replace labels, or adjust their number?"""

from __future__ import annotations

import ast
import functools
import types
from typing import Any

from hotfix.training import _user_code
from hotfix.training._moved import is_loss_of_moved, leaves_out_the_first, names_labels

_EXTENDING = ("cat", "concat", "concatenate", "hstack", "pad")
_NARROWING = ("narrow", "narrow_copy", "index_fill", "index_fill_")
_FIRST = ("0", "[0]", ":1", "0:1")
_INPUTS = ("input", "decoder")  # of a model, into which a program writes the first token
_OF_A_TEXT = ("labels", "inputs_embeds")
_SHIFTED = "shift_labels"


def gives_shifted_labels(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's passes ``shift_labels`` on, and does not move labels itself.

    Args:
        function: a method of a Trainer or of a model, or a hook. Functions of the library are not looked into.
        owner: has the methods that it may call.
    """
    return _user_code.is_true_of(function, type(owner), _names_shifted) and not moves_labels(function)


def moves_labels(function: Any) -> bool:
    """Whether the loss of a function of the user's takes ``labels[..., 1:]`` and no uncut labels, and cuts predictions.

    Labels are also cut for other purposes, such as a metric, or a weight for each change of the label.
    """
    code = getattr(_user_code.function_of(function), "__code__", None)
    return code is not None and _code_moves_labels(code)


def may_move_labels(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's, or one that it calls, leaves out the first label.

    It has ``labels[..., 1:]`` or ``narrow``, or writes to the first of each row: ``labels[:, 0] = -100``, or a weight.
    Functions of the library are not looked into; `owner` has the methods that may be called.
    """
    return _user_code.is_true_of(function, type(owner), _moves)


def may_extend_labels(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's, or one that it calls, puts labels together with others: ``cat([…, labels])``.

    Args:
        function: such as the forward of a model that puts a prompt of its own in front of each text. Functions of the
            library are not looked into.
        owner: has the methods that it may call.
    """
    return _user_code.is_true_of(function, type(owner), _extends)


def replaces_labels(function: Any, owner: Any) -> bool:
    """Whether a function of the user's gives a model other labels than it got, or embeddings that it has made.

    Args:
        function: a forward that calls ``super()``, or a method of the Trainer that calls the model.
        owner: of the function.
    """
    return _user_code.is_true_of(function, type(owner), _replaces)


def may_adjust_the_number(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's, or one that it calls, adds to the number it divides by, or subtracts from it.

    Args:
        function: such as a loss that makes up for a label that is counted and never predicted. Functions of the library
            are not looked into.
        owner: has the methods that it may call.
    """
    return _user_code.is_true_of(function, type(owner), _adjusts)


def counts_by_itself(function: Any, owner: Any = None) -> bool:
    """Whether a function of the user's may leave out the first label, or adjusts the number of labels.

    Args:
        function: a loss, or a method of the Trainer.
        owner: has the methods that it may call.
    """
    return may_move_labels(function, owner) or may_adjust_the_number(function, owner)


def _names_shifted(function: Any, kind: type) -> bool:
    return any(map(_code_names_shifted, _user_code.codes_of(function, kind)))


@functools.cache
def _code_names_shifted(code: types.CodeType) -> bool:
    """Whether ``shift_labels`` is a text in a code object, such as a keyword argument, and is not only read by it."""
    parts = (part for text in code.co_consts for part in (text if isinstance(text, tuple) else (text,)))
    if _SHIFTED not in parts:
        return False
    definition = _user_code.definition_of(code)
    return definition is None or _gives_shifted(definition)


def _gives_shifted(definition: ast.FunctionDef) -> bool:
    """Whether a definition has the text other than in ``inputs["shift_labels"]`` or ``"shift_labels" in inputs``."""
    nodes = list(ast.walk(definition))
    read: list[ast.AST] = []
    for node in nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            read.append(node.slice)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            read.append(node.left)
    keywords = (node.arg for node in nodes if isinstance(node, ast.keyword))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant) and node not in read)
    return _SHIFTED in (*keywords, *texts)


def _moves(function: Any, kind: type) -> bool:
    return any(map(_code_may_leave_out_the_first, _user_code.codes_of(function, kind)))


@functools.cache
def _code_may_leave_out_the_first(code: types.CodeType) -> bool:
    definition = _user_code.definition_of(code)
    return definition is not None and any(map(_may_leave_out_the_first, ast.walk(definition)))


def _may_leave_out_the_first(node: ast.AST) -> bool:
    """Whether a node cuts labels at their beginning, or writes to the first element of each row."""
    if leaves_out_the_first(node) or _user_code.called_name(node) in _NARROWING:
        return True
    writes = isinstance(getattr(node, "ctx", None), ast.Store)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        node, writes = node.func.value, True  # labels[:, 0].fill_(-100)
    if not writes or not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return False
    if not node.slice.elts or ast.unparse(node.slice.elts[-1]) not in _FIRST:
        return False
    return not any(word in ast.unparse(node.value) for word in _INPUTS)


@functools.cache
def _code_leaves_out_the_first(code: types.CodeType) -> bool:
    definition = _user_code.definition_of(code)
    return definition is not None and any(map(leaves_out_the_first, ast.walk(definition)))


@functools.cache
def _code_moves_labels(code: types.CodeType) -> bool:
    definition = _user_code.definition_of(code)
    if definition is None or not any(map(_leaves_out_the_last, ast.walk(definition))):
        return False
    return _code_leaves_out_the_first(code) and is_loss_of_moved(definition)


def _leaves_out_the_last(node: ast.AST) -> bool:
    """Whether a node cuts predictions, ``logits[..., :-1, :]``, or has put a label that is ignored behind the last."""
    if isinstance(node, ast.Call) and _user_code.called_name(node) == "pad":
        return any(ast.unparse(argument) in ("(0, 1)", "[0, 1]") for argument in node.args)
    if not isinstance(node, ast.Subscript) or names_labels(node.value):
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(part, ast.Slice) and part.upper and ast.unparse(part.upper) == "-1" for part in parts)


def _adjusts(function: Any, kind: type) -> bool:
    return any(
        _adjusts_a_sum(definition)
        for definition in filter(None, map(_user_code.definition_of, _user_code.codes_of(function, kind)))
    )


def _adjusts_a_sum(definition: ast.FunctionDef) -> bool:
    """Whether a definition divides by a sum or a difference, or computes one with the number of labels."""
    nodes = list(ast.walk(definition))
    sums = [node for node in nodes if isinstance(node, (ast.BinOp, ast.AugAssign)) and _is_sum(node)]
    if any(_user_code.NUMBER in ast.unparse(node) for node in sums):
        return True
    inside = {id(node) for node in sums}
    divisors = [node.right for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    names = {node.id for divisor in divisors for node in ast.walk(divisor) if isinstance(node, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") in names for target in node.targets):
            divisors.append(node.value)
        elif isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") in names and id(node) in inside:
            return True
    return any(id(part) in inside for divisor in divisors for part in ast.walk(divisor))


def _is_sum(node: Any) -> bool:
    """Whether a node adds or subtracts something other than a constant, such as the small number in front of a zero."""
    parts = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
    return isinstance(node.op, (ast.Add, ast.Sub)) and not any(isinstance(part, ast.Constant) for part in parts)


def _extends(function: Any, kind: type) -> bool:
    definitions = filter(None, map(_user_code.definition_of, _user_code.codes_of(function, kind)))
    return any(_extends_labels(node) for definition in definitions for node in ast.walk(definition))


def _extends_labels(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return _user_code.called_name(node) in _EXTENDING and names_labels(node)


def _replaces(function: Any, kind: type) -> bool:
    codes = (layer.__code__ for layer in _user_code.layers_of(function) if isinstance(layer, types.FunctionType))
    definitions = filter(None, map(_user_code.definition_of, codes))
    return any(_gives_others(node, definition) for definition in definitions for node in ast.walk(definition))


def _gives_others(node: ast.AST, definition: ast.FunctionDef) -> bool:
    """Whether a node gives labels or embeddings to a model, or puts them into its inputs, and has made them itself."""
    given: list[tuple[Any, ast.AST]] = []
    if isinstance(node, ast.Call) and _user_code.called_name(node) in (definition.name, "model", "update"):
        given += [(keyword.arg, keyword.value) for keyword in node.keywords]
    elif isinstance(node, ast.Dict):
        given += [(getattr(key, "value", None), value) for key, value in zip(node.keys, node.values)]
    elif isinstance(node, ast.Assign):
        keys = [getattr(target.slice, "value", None) for target in node.targets if isinstance(target, ast.Subscript)]
        given += [(key, node.value) for key in keys]
    return any(name in _OF_A_TEXT and not _is_as_given(value, name, definition) for name, value in given)


def _is_as_given(value: ast.AST, name: str, definition: ast.FunctionDef) -> bool:
    """Whether a value is None, an argument that is never assigned to, or was only taken out of the inputs."""
    if isinstance(value, ast.Constant):
        return value.value is None
    if isinstance(value, ast.Name):
        stored = [node for node in ast.walk(definition) if getattr(node, "id", "") == value.id]
        assigned = [node for node in ast.walk(definition) if isinstance(node, ast.Assign)]
        simple = [node.value for node in assigned if any(target in stored for target in node.targets)]
        count = sum(isinstance(getattr(node, "ctx", None), ast.Store) for node in stored)
        return count == len(simple) and all(_is_taken_out(each, name) for each in simple)
    return _is_taken_out(value, name)


def _is_taken_out(value: ast.AST, name: str) -> bool:
    """Whether a value is ``inputs["labels"]``, or the same by ``get`` or ``pop``."""
    if isinstance(value, ast.Subscript):
        return getattr(value.slice, "value", None) == name
    first = value.args[0] if isinstance(value, ast.Call) and value.args else None
    return _user_code.called_name(value) in ("get", "pop") and getattr(first, "value", None) == name
