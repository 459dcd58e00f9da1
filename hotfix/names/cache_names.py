"""By which name a function of the program knows the cache, read from its code."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Optional

from hotfix._support.memo import weakly


def parameters_of(code: CodeType) -> tuple[str, ...]:
    """The names of the parameters of a function, without ``*args`` and ``**kwargs``."""
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


@weakly
def older_name(code: CodeType, old: tuple[str, ...], new: str) -> Optional[str]:
    """The first of the older names that a function reads as a parameter; None if it has any word of the new one.

    Args:
        code: the code of the function.
        old: the older names.
        new: the name that the release passes.
    """
    parameters = parameters_of(code)
    if new in parameters or any(mentions(inner, new) for inner in all_within(code)):
        return None
    return next((name for name in old if name in parameters and is_loaded(name, code)), None)


def mentions(code: CodeType, name: str) -> bool:
    """Whether a string is among the constants of a function, or the keyword of a call."""
    return any(name in constant if isinstance(constant, tuple) else name == constant for constant in code.co_consts)


def is_loaded(name: str, code: CodeType) -> bool:
    """Whether any instruction loads a variable, in the function or in one within it."""
    is_loaded_here = any(name in variables(step, "LOAD_") for step in steps_of(code))
    return is_loaded_here or any(name in inner.co_freevars for inner in all_within(code))


def is_stored(name: str, code: CodeType) -> bool:
    """Whether a function puts something else in a variable."""
    return any(name in variables(step, "STORE_") for step in steps_of(code))


def calls_update(name: str, code: CodeType) -> bool:
    """Whether a function fills the cache in a variable: ``past_key_values.update(…)``."""
    steps = steps_of(code)
    return any(
        after.argval == "update" and name in variables(step, "LOAD_")[-1:] for step, after in zip(steps, steps[1:])
    )


def looks_for(key: str, code: CodeType) -> bool:
    """Whether a function looks a key up in a dict: ``inputs[key]``, ``inputs.get(key)``, ``key in inputs``."""
    steps = steps_of(code)
    for before, step, after, last in zip([*steps[:1], *steps], steps, steps[1:], [*steps[2:], steps[-1]]):
        if step.opname == "LOAD_CONST" and step.argval == key:
            if after.opname in ("BINARY_SUBSCR", "BINARY_OP") or before.argval in ("get", "pop", "setdefault"):
                return True
            if "CONTAINS_OP" in last.opname:
                return True
    return False


def tests_truth(name: str, code: CodeType) -> bool:
    """Whether a function asks if a variable is true or has a length: ``if past:``, ``not past``, ``len(past) > 0``."""
    steps = [step for step in steps_of(code) if "CALL" not in step.opname]
    return any(
        name in variables(step, "LOAD_")[-1:] and (_is_test(after) or (before.argval == "len" and _is_zero(after)))
        for before, step, after in zip(steps, steps[1:], steps[2:])
    )


def _is_test(step: dis.Instruction) -> bool:
    return any(kind in step.opname for kind in ("IF_TRUE", "IF_FALSE", "TO_BOOL", "UNARY_NOT"))


def _is_zero(step: dis.Instruction) -> bool:
    return step.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and step.argval == 0


def passes_keywords_on(code: CodeType) -> bool:
    """Whether a function calls anything with ``**`` beside other keywords."""
    return any(step.opname == "DICT_MERGE" for step in steps_of(code))


def lets_keywords_go(code: CodeType) -> bool:
    """Whether a function may pass its ``**kwargs`` on as a whole, and with them an argument that it does not know.

    Reading single items, or asking whether there are any, passes nothing on.
    """
    if not code.co_flags & inspect.CO_VARKEYWORDS:
        return False
    name = code.co_varnames[len(parameters_of(code)) + bool(code.co_flags & inspect.CO_VARARGS)]
    if any(name in inner.co_freevars for inner in all_within(code)):
        return True
    steps = steps_of(code)
    return any(
        name in variables(step, "LOAD_")[:-1] or (name in variables(step, "LOAD_") and not _reads_an_item(after, last))
        for step, after, last in zip(steps, steps[1:], [*steps[2:], steps[-1]])
    )


def _reads_an_item(after: dis.Instruction, last: dis.Instruction) -> bool:
    """Whether the instructions after the load of a dict read, set or remove one item, or test the dict."""
    if after.opname in ("LOAD_ATTR", "LOAD_METHOD"):
        return after.argval in ("get", "pop", "setdefault", "keys")
    if after.opname == "LOAD_CONST":
        return "SUBSCR" in last.opname or last.opname == "BINARY_OP"
    return any(kind in after.opname for kind in ("CONTAINS_OP", "JUMP", "TO_BOOL", "UNARY_NOT"))


def cuts(code: CodeType) -> bool:
    """Whether a function slices anything, as in ``ids[:, -1:]``."""
    return any(
        "SLICE" in step.opname or isinstance(step.argval, slice) or _has_a_slice(step) for step in steps_of(code)
    )


def _has_a_slice(step: dis.Instruction) -> bool:
    return isinstance(step.argval, tuple) and any(isinstance(each, slice) for each in step.argval)  # Python 3.14


def uses_otherwise(key: str, code: CodeType) -> bool:
    """Whether a function asks if a key is not in a dict, or has its name for anything but an item of a dict.

    Such as a key of a new dict, or a comparison: ``{key: value}``, ``each != key``. The keyword of a call is neither.
    """
    steps = steps_of(code)
    for number, step in enumerate(steps[:-2]):
        if step.opname != "LOAD_CONST" or step.argval != key:
            continue
        after, last = steps[number + 1 : number + 3]
        if "CONTAINS_OP" in last.opname and last.arg == 1:
            return True
        is_item = "SUBSCR" in after.opname or after.opname == "BINARY_OP" or "CONTAINS_OP" in last.opname
        is_looked_up = steps[number - 1].argval in ("get", "pop", "setdefault")
        if not is_item and not is_looked_up and not _is_keyword(steps[number + 1 :]):
            return True
    return False


def _is_keyword(steps: list[dis.Instruction]) -> bool:
    """Whether the instructions after a constant make it a keyword of a call that has ``**`` as well."""
    ends = ("DICT_MERGE", "DICT_UPDATE", "BINARY_OP", "COMPARE_OP", "RETURN_VALUE")
    end = next((step.opname for step in steps if step.opname in ends or "STORE_" in step.opname), "")
    return end == "DICT_MERGE"


def steps_of(code: CodeType) -> list[dis.Instruction]:
    """The instructions of a function."""
    return [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]


def variables(step: dis.Instruction, kind: str) -> tuple[str, ...]:
    """The variables of an instruction that loads or stores any; some have two."""
    if kind not in step.opname or not any(place in step.opname for place in ("_FAST", "_DEREF", "_CLOSURE")):
        return ()
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


def all_within(code: CodeType) -> Iterator[CodeType]:
    """A code object, and those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_within(constant)
