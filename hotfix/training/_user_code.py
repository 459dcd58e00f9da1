"""Reads the functions of a program: their code, their definitions, and the names in them.

A function may be wrapped, partial, or an object with ``__call__``. Functions of the library are not looked into.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from typing import Any, Optional
from weakref import WeakKeyDictionary

from hotfix._support.memo import weakly
from hotfix.patching import decorated
from hotfix.patching.scope import _reason
from hotfix.versions import source

NUMBER = "num_items_in_batch"
# Packages whose forward takes the place of the library's, and treats labels and number in the same way.
LIKE_THE_LIBRARY = ("liger_kernel",)
_answers: WeakKeyDictionary[Any, WeakKeyDictionary[type, dict[Any, bool]]] = WeakKeyDictionary()


def is_yours(function: Any) -> bool:
    """Whether there is a function, and it is not the library's."""
    return function is not None and bool(_reason(function, "", "transformers"))


def name_of(function: Any) -> str:
    """The qualified name of a function, for the report."""
    return str(getattr(function_of(function), "__qualname__", type(function).__name__))


def is_true_of(function: Any, kind: type, test: Any) -> bool:
    """The answer of a test for a function; False for one of the library. The Trainer asks for each micro-batch.

    The answer is kept as long as the function and the class: they may hold a model, which is freed with them.
    """
    if function is None or not _reason(function, "", "transformers"):
        return False
    outer = outer_of(function)
    if not isinstance(outer, types.FunctionType):
        return bool(test(outer, kind))
    known = _answers.setdefault(outer, WeakKeyDictionary()).setdefault(kind, {})
    if test not in known:
        known[test] = test(outer, kind)
    return known[test]


def says(function: Any, pattern: re.Pattern[str]) -> bool:
    """Whether a function, or one that it calls, has a name or a text in which a pattern is found.

    Functions within it are looked into, those that it holds, and those of its own module.
    """
    outer = outer_of(function)
    return _says(outer, pattern) if isinstance(outer, types.FunctionType) else _finds(outer, pattern)


def names(function: Any, name: str) -> bool:
    """Whether a function uses an attribute or a global variable of this name."""
    return any(name in getattr(getattr(layer, "__code__", None), "co_names", ()) for layer in layers_of(function))


def codes_of(function: Any, kind: Optional[type] = None) -> Iterator[types.CodeType]:
    """The code of a function, of those within it, those that it holds, those of its module, and methods of `kind`."""
    functions, seen = layers_of(function), set()
    while functions:
        target: Any = functions.pop()
        while isinstance(target, functools.partial):
            target = function_of(target.func)
        target = (
            target if isinstance(target, types.FunctionType) else inspect.getattr_static(type(target), "__call__", None)
        )
        code = getattr(target, "__code__", None)
        if code is None or code in seen:
            continue
        seen.add(code)
        held = [cell.cell_contents for cell in target.__closure__ or () if is_full(cell)]
        codes = [code]
        for inner_code in codes:
            yield inner_code
            codes += [inner for inner in inner_code.co_consts if isinstance(inner, types.CodeType)]
            held += [target.__globals__.get(name) for name in inner_code.co_names]
            if kind is not None:
                methods = (inspect.getattr_static(kind, name, None) for name in inner_code.co_names)
                held += [method for method in map(function_of, methods) if isinstance(method, types.FunctionType)]
        here = target.__globals__.get("__name__")
        functions += [
            function_of(function) for function in held if getattr(function_of(function), "__module__", None) == here
        ]


def is_full(cell: Any) -> bool:
    """Whether a closure variable has a value other than None."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def function_of(method: Any) -> Any:
    """The innermost function of a method, below its decorators."""
    return inspect.unwrap(getattr(method, "__func__", method)) if method is not None else None


def outer_of(method: Any) -> Any:
    """The outermost function of a method."""
    return getattr(method, "__func__", method)


def layers_of(method: Any) -> list[Any]:
    """The program's functions of a method, outermost first: decorators around one of the library, or of the program.

    Returns:
        The innermost function alone, if none is the program's.
    """
    layers, function = [], outer_of(method)
    for _ in range(20):
        if is_your_layer(function):
            layers.append(function)
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return layers or [function_of(method)]


def is_your_layer(function: Any) -> bool:
    """Whether a function is the program's, whatever it wraps."""
    if isinstance(function, types.FunctionType):
        return not decorated.is_from_a_library(function)
    return hasattr(function, "__wrapped__") and is_yours(type(function))


@functools.cache
def definition_of(code: types.CodeType) -> Optional[ast.FunctionDef]:
    """The definition that a code object was compiled from, or None where its source cannot be read."""
    try:
        tree = source.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):
        return None
    return next((node for node in tree.body if isinstance(node, ast.FunctionDef)), None)


def called_name(node: ast.AST) -> str:
    """The last name of what a call calls: ``pad`` for ``functional.pad(…)``; empty for other nodes."""
    called = getattr(node, "func", None)
    return str(getattr(called, "attr", getattr(called, "id", "")))


@weakly  # the Trainer asks for each micro-batch
def _says(function: Any, pattern: re.Pattern[str]) -> bool:
    return _finds(function, pattern)


def _finds(function: Any, pattern: re.Pattern[str]) -> bool:
    return any(
        isinstance(word, str) and pattern.search(word)
        for code in codes_of(function)
        for word in (*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_consts)
    )
