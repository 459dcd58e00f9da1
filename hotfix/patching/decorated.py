"""Functions in decorators: does one pass its arguments on to the function that it decorates?"""

from __future__ import annotations

import dis
import inspect
from types import CodeType, FunctionType
from typing import Any

from hotfix.patching import scope

# Their decorators hand on what they are given.
_LIBRARIES = frozenset({"torch", "transformers", "accelerate", "peft", "deepspeed", "contextlib", "hotfix"})


def is_from_a_library(function: Any) -> bool:
    """Whether a function was written in one of the libraries whose decorators pass all arguments on."""
    return type(function) is FunctionType and scope._is_from(function, _LIBRARIES)


def passes_everything_on(wrapper: Any) -> bool:
    """Whether a decorator's function takes ``*args, **kwargs``, and calls the decorated one with both, in any case.

    It has no branches and no handlers, and reads what it is given in that call only, so nothing changes it before; the
    call of the decorated function then fails if its own arguments do not fit. Parameters before ``*args`` are passed on
    as well, in their order.
    """
    if type(wrapper) is not FunctionType:
        return False
    code = wrapper.__code__
    cells = zip(code.co_freevars, wrapper.__closure__ or ())
    called = [name for name, cell in cells if holds(cell, wrapper.__wrapped__)]  # type: ignore[attr-defined]
    parameters = inspect.signature(wrapper, follow_wrapped=False).parameters.values()
    if not called or [parameter.kind for parameter in parameters][-2:] != [_ANY_PLACE, _ANY_NAME]:
        return False
    if getattr(code, "co_exceptiontable", b"") or any(isinstance(const, CodeType) for const in code.co_consts):
        return False
    *before, arguments, named = (parameter.name for parameter in parameters)
    steps = [(each.opname, each.argval) for each in dis.get_instructions(code) if each.opname != "PUSH_NULL"]
    calls = [number for number, (name, _) in enumerate(steps) if name == "CALL_FUNCTION_EX"]
    if len(calls) != 1 or steps[calls[0] - 2 : calls[0]] != [("LOAD_FAST", named), ("DICT_MERGE", 1)]:
        return False
    if any("JUMP" in name or name in ("SETUP_FINALLY", "SETUP_WITH", "FOR_ITER") for name, _ in steps):
        return False
    uses = [value for _, value in steps for value in (value if isinstance(value, tuple) else (value,))]
    if uses.count(arguments) != 1 or uses.count(named) != 1:
        return False
    expected = [called[0], *before, *([len(before)] if before else [])]  # the last is of the list that they are put in
    place = uses.index(arguments)
    return uses[place - len(expected) : place] == expected


_ANY_PLACE, _ANY_NAME = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD


def holds(cell: Any, function: Any) -> bool:
    """Whether a cell of a closure holds a function."""
    try:
        return cell.cell_contents is function
    except ValueError:  # it is empty
        return False
