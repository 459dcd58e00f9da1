"""Does a loss of the program take labels without the first of each text, and only those?

The source of one function is read from top to bottom, and labels are followed through its assignments. A slice
``labels[..., 1:]`` beside the loss (a metric, a count, a term for neighbours) does not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from hotfix.training import _user_code

_WHOLE = "whole"
_CUT = "cut"
_LABELS = re.compile(r"(?!num_|n_)(.*_)?(labels?|targets?)(_ids)?")
_LOSSES = re.compile(r"loss|entropy|nll|crit|gather|fct|(^|_)ce(_|$)")
_SHAPING = frozenset(
    """
    clamp clone contiguous cpu cuda detach flatten int long masked_fill repeat_interleave reshape squeeze to type
    unsqueeze view view_as
    """.split()
)
_COMBINING = frozenset("as_tensor cat concat pad stack where".split())
_READING = frozenset(
    """
    debug empty_like eq equal expand_as full_like getattr hasattr info isinstance len log ne ones_like print repr
    reshape_as str type type_as view_as zeros_like
    """.split()
)
# A test that leaves no choice: labels that are there, or those of a language model.
_NO_CHOICE = re.compile(r"\b(n?dim|shape|None)\b")


def is_loss_of_moved(definition: ast.FunctionDef) -> bool:
    """Whether the cut labels are an argument of a loss, and the uncut ones are used in no computation.

    Args:
        definition: of a function that has a slice ``labels[..., 1:]``.
    """
    reader = _Reader()
    for statement in definition.body:
        reader.visit(statement)
    return reader.is_cut_in_a_loss and not reader.is_whole_used


def leaves_out_the_first(node: ast.AST) -> bool:
    """Whether a node is ``labels[..., 1:]``."""
    if not isinstance(node, ast.Subscript):
        return False
    last = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if not isinstance(last, ast.Slice) or not isinstance(last.lower, ast.Constant) or last.lower.value != 1:
        return False
    return names_labels(node.value)


def names_labels(node: ast.AST) -> bool:
    """Whether the source of a node has labels or targets in it."""
    return any(word in ast.unparse(node) for word in ("label", "target"))


class _Reader(ast.NodeVisitor):
    """Follows labels.

    Attributes:
        is_cut_in_a_loss: a call that is named like a loss takes labels without the first.
        is_whole_used: uncut labels are passed on, used in a calculation, or choose elements.
    """

    def __init__(self) -> None:
        self.is_cut_in_a_loss = False
        self.is_whole_used = False
        self._kinds: dict[str, str] = {}  # of the variables so far

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._assign(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._assign(node.target, node.value)

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        before = dict(self._kinds)
        for statement in node.body:
            self.visit(statement)
        first, self._kinds = self._kinds, before
        for statement in node.orelse:
            self.visit(statement)
        if not node.orelse and _NO_CHOICE.search(ast.unparse(node.test)):
            self._kinds = first
            return
        second = self._kinds
        self._kinds = {
            name: min(first.get(name, _default(name)), second.get(name, _default(name)), key=_certainty)
            for name in {*first, *second}
        }

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = _user_code.called_name(node.func if isinstance(node.func, ast.Call) else node)
        if name in _READING or name in _COMBINING or name in _SHAPING:
            return
        kinds = {self._kind(value) for value in (*node.args, *(keyword.value for keyword in node.keywords))}
        self.is_whole_used |= _WHOLE in kinds
        self.is_cut_in_a_loss |= _CUT in kinds and bool(_LOSSES.search(name.lower()))

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.generic_visit(node)
        self.is_whole_used |= self._kind(node.slice) == _WHOLE

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        self.is_whole_used |= _WHOLE in (self._kind(node.left), self._kind(node.right))

    def visit_Dict(self, node: ast.Dict) -> None:
        self.generic_visit(node)
        self.is_whole_used |= any(self._kind(value) == _WHOLE for value in node.values)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            if len(values) != len(target.elts):
                return
            kinds = [self._kind(each) for each in values]
            for each, kind in zip(target.elts, kinds):
                if isinstance(each, ast.Name):
                    self._kinds[each.id] = kind
        elif isinstance(target, ast.Name):
            self._kinds[target.id] = self._kind(value)

    def _kind(self, node: ast.AST) -> str:
        """Whether a value has whole labels, cut ones, or none."""
        if isinstance(node, ast.Name):
            return self._kinds.get(node.id, _default(node.id))
        if isinstance(node, ast.Attribute):
            return _default(node.attr)
        if isinstance(node, ast.Subscript):
            if leaves_out_the_first(node):
                return _CUT
            return _default(str(getattr(node.slice, "value", ""))) or self._kind(node.value)
        if isinstance(node, ast.IfExp):
            kinds = (self._kind(node.body), self._kind(node.orelse))
            return max(kinds, key=_certainty) if _NO_CHOICE.search(ast.unparse(node.test)) else _mixed(kinds)
        if isinstance(node, (ast.List, ast.Tuple)):
            return _mixed(map(self._kind, node.elts))
        if isinstance(node, ast.Starred):
            return self._kind(node.value)
        return self._kind_of_call(node) if isinstance(node, ast.Call) else ""

    def _kind_of_call(self, node: ast.Call) -> str:
        name = _user_code.called_name(node)
        if name in ("get", "pop") and node.args:
            return _default(str(getattr(node.args[0], "value", "")))
        of_arguments = _mixed(map(self._kind, node.args))
        if name in _COMBINING:
            return of_arguments
        if isinstance(node.func, ast.Attribute) and name in _SHAPING:
            return self._kind(node.func.value) or of_arguments
        return ""


def _default(name: str) -> str:
    """The kind of a variable that is not known from an assignment."""
    return _WHOLE if _LABELS.fullmatch(name) else ""


def _certainty(kind: str) -> int:
    """Whole labels are more certain to forbid a repair than none; cut ones are the most certain to need it."""
    return (_WHOLE, "", _CUT).index(kind)


def _mixed(kinds: Iterable[str]) -> str:
    """The kind of several values together: cut if one is cut and the others are none, such as padding."""
    kinds = set(kinds)
    return next((kind for kind in (_WHOLE, _CUT) if kind in kinds), "")
