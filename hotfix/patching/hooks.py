"""Whether the code of a hook only reads its arguments; answered from its instructions, without its source."""

from __future__ import annotations

import dis
import enum
import sys
import types
from typing import Any

from . import scope

_codes: dict[types.CodeType, bool] = {}


@scope.settled
def only_reads(code: types.CodeType) -> bool:
    """Whether a function returns None, and does not write into its arguments but the first.

    A call of a function or a method that is not known to read only may write into what it is given.

    Args:
        code: of a hook of a module. Its first argument behind ``self`` is the module.
    """
    known = _codes.get(code)
    if known is None:
        known = _codes[code] = _returns_only_none(code) and not _writes(code)
    return known


# ---------------------------------------------------------------------------------------------------------------------


def _returns_only_none(code: types.CodeType) -> bool:
    before: Any = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST" and instruction.argval is not None:
            return False
        if instruction.opname == "RETURN_VALUE":
            is_none = before.opname == "LOAD_CONST" and before.argval is None
            if (
                not is_none or instruction.is_jump_target
            ):  # else another value may come here: `x if condition else None`
                return False
        before = instruction
    return True


_OF_NO_EFFECT = frozenset(
    {"CACHE", "EXTENDED_ARG", "GET_ITER", "KW_NAMES", "NOP", "PRECALL", "RESUME", "TO_BOOL", "UNPACK_SEQUENCE"}
)


class _Mark(enum.Enum):
    """What is known of a value on the stack that does not come from an argument."""

    READS = enum.auto()  # a function or method that only reads its arguments
    MODULE = enum.auto()  # a module, whose functions only read unless their names end in "_"


_READ = frozenset(
    [
        "abs",
        "bool",
        "enumerate",
        "float",
        "format",
        "getattr",
        "hasattr",
        "id",
        "int",
        "isinstance",
        "iter",
        "len",
        "list",
        "max",
        "min",
        "next",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
)
_READ_BY_METHODS = frozenset(["append", "debug", "error", "extend", "info", "insert", "put", "warning", "write"])
_MODULES = frozenset(("torch", "math"))


def _writes(code: types.CodeType) -> bool:
    """Whether a hook may write into its arguments but the module: ``output *= 2``, ``scale(output)``, ``out=``.

    The instructions are followed in their order, with the argument that each value on the stack comes from.
    """
    if any(isinstance(constant, tuple) and "out" in constant for constant in code.co_consts):
        return True
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known: dict[str, Any] = {name: name for name in names[2 if names[:1] == ("self",) else 1 :]}
    if known.keys() & set(code.co_cellvars):  # a function in the hook may write into it
        return True
    stack: list[Any] = []
    try:
        return any(_step(instruction, stack, known) for instruction in dis.get_instructions(code))
    except IndexError:  # a jump has left more on the stack than the order of the instructions shows
        return True


_IS_3_11 = sys.version_info[:2] == (3, 11)
_CALLS = frozenset(
    ("PRECALL", "CALL_FUNCTION_EX")
    if _IS_3_11
    else ("CALL", "CALL_KW", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_FUNCTION_EX", "CALL_METHOD")
)
"""The instructions that call a function, with it and its arguments on the stack."""


def _step(instruction: dis.Instruction, stack: list[Any], known: dict[str, Any]) -> bool:
    """Follow one instruction; True if it writes into an argument."""
    name, value = instruction.opname, instruction.argval
    if "_FAST" in name and "STORE" not in name and "LOAD" in name:
        stack += [known.get(constant) for constant in (value if isinstance(value, tuple) else (value,))]
    elif name == "STORE_FAST":
        known[value] = stack.pop()
    elif name == "STORE_FAST_STORE_FAST":
        known[value[0]], known[value[1]] = stack.pop(), stack.pop()
    elif name == "STORE_FAST_LOAD_FAST":
        known[value[0]] = stack.pop()
        stack.append(known.get(value[1]))
    elif name in ("COPY", "DUP_TOP"):
        stack.append(stack[-(instruction.arg or 1)])
    elif name == "DUP_TOP_TWO":
        stack += stack[-2:]
    elif name in ("SWAP", "ROT_TWO"):
        other = -(instruction.arg or 2)
        stack[-1], stack[other] = stack[other], stack[-1]
    elif name == "ROT_THREE":
        stack[-3:] = [stack[-1], *stack[-3:-1]]
    elif name in ("STORE_SUBSCR", "STORE_SLICE"):
        container = stack[-2 if name == "STORE_SUBSCR" else -3]
        del stack[-3 if name == "STORE_SUBSCR" else -4 :]
        return isinstance(container, str)
    elif name == "STORE_ATTR":
        owner = stack[-1]
        del stack[-2:]
        return isinstance(owner, str)
    else:
        return _other_step(instruction, stack)
    return False


def _other_step(instruction: dis.Instruction, stack: list[Any]) -> bool:
    name, effect = instruction.opname, dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        owner, attribute = stack[-1], str(instruction.argval)
        is_written = attribute.endswith("_") and attribute != "requires_grad_"
        if isinstance(owner, str):
            is_copy = not effect and attribute in ("clone", "new_zeros", "shape")
            stack[-1:] = [owner, _Mark.READS] if effect else [None if is_copy else owner]
            return is_written
        reads = attribute in _READ_BY_METHODS or (owner is _Mark.MODULE and not is_written)
        stack[-1:] = [_Mark.READS if reads else None] * (1 + effect)
        return False
    if name == "LOAD_GLOBAL":
        reads, is_module = instruction.argval in _READ, instruction.argval in _MODULES
        stack += [_Mark.READS if reads else _Mark.MODULE if is_module else None] * effect
        return False
    if name.startswith("INPLACE_") or (name == "BINARY_OP" and instruction.argrepr.endswith("=")):
        target = stack[-2]
        stack[-2:] = [target]
        return isinstance(target, str)
    if name in ("END_FOR", "POP_ITER"):
        del stack[-1:]  # behind the loop, whose item and iterator were taken already
    elif effect > 0:
        is_part = name in ("FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX")
        stack += [stack[-1] if is_part else None] * effect
    elif effect < 0:
        gone = stack[effect - 1 :] if len(stack) > -effect else stack[effect:]
        if len(stack) < -effect:
            raise IndexError
        if name in _CALLS and _Mark.READS not in gone and any(isinstance(root, str) for root in gone):
            return True
        del stack[effect:]
        if name != "POP_TOP" and not name.startswith(("POP_JUMP", "STORE_", "RETURN", "END_", "JUMP")) and stack:
            stack[-1] = next((root for root in gone if isinstance(root, str)), None)
    elif stack and name not in _OF_NO_EFFECT and not name.startswith(("JUMP", "DELETE")):
        stack[-1] = stack[-1] if name.startswith(("CALL", "LOAD_", "BUILD_")) else None
    return False
