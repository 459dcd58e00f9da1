"""By which name a function of the program knows the cache, read from its code."""

from __future__ import annotations

import dis
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


def passes_keywords_on(code: CodeType) -> bool:
    """Whether a function calls anything with ``**`` beside other keywords."""
    return any(step.opname == "DICT_MERGE" for step in steps_of(code))


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
