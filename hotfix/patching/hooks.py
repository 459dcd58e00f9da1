"""Whether the code of a hook only reads its arguments; answered from its instructions, without its source."""

from __future__ import annotations

import dis
import enum
import inspect
import sys
import types
from collections.abc import Iterable
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
    """A value on the stack that does not come from an argument."""

    READS = enum.auto()  # a function or method that only reads its arguments
    KEEPS = enum.auto()  # a method that stores them
    MODULE = enum.auto()  # a module, whose functions only read unless their names end in "_"
    PART = enum.auto()  # an attribute or an item of something else, where an argument may have been stored
    WHOLE = enum.auto()  # an index of many items: ``...`` or a slice


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_READ = _names(
    """
    abs bool enumerate float format getattr hasattr id int isinstance iter len list max min next print range repr
    reversed round sorted str sum tuple type zip
    """
)
_KEEPING = _names("append extend insert put")
_READ_BY_METHODS = _KEEPING | _names("debug error info warning write")
_CHANGING = _names(
    """
    add append clear discard extend insert pop popitem register_hook remove reverse setdefault sort update
    __setattr__ __setitem__ __iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__
    __iand__ __ior__
    """
)
"""Methods that change what they belong to: a list or a dictionary that a hook was given, or a gradient."""
_MODULES = _names("torch math time")
_EXECUTING = _names("eval exec globals locals vars")


def _writes(code: types.CodeType) -> bool:
    """Whether a hook may write into its arguments but the module: ``output *= 2``, ``scale(output)``, ``out=``.

    The instructions are followed in their order, with the argument that each value on the stack comes from. A variable
    that once had an argument keeps it, and so does one that gets a value from a statement that uses an argument.
    """
    if any(isinstance(constant, tuple) and "out" in constant for constant in code.co_consts):
        return True
    variable = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + variable]
    given = names[2 if names[:1] == ("self",) else 1 :]
    if set(given) & set(code.co_cellvars):  # a function in the hook may write into it
        return True
    return _writes_into(code, given)


def _writes_into(code: types.CodeType, given: Iterable[str]) -> bool:
    """Whether code may write into some of its arguments; those of functions and loops in it may be parts of them."""
    walk = _Walk(given)
    try:
        writes = any(map(walk.step, _instructions(code)))
    except IndexError:  # a jump has left more on the stack than the order of the instructions shows
        return True
    if writes or (walk.keeps and (walk.calls or _changes_something(code))):
        return True
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return any(_writes_into(each, each.co_varnames[: each.co_argcount + each.co_kwonlyargcount]) for each in inner)


_CLEANING = _names("SWAP POP_TOP STORE_FAST CALL_INTRINSIC_1 RERAISE")


def _instructions(code: types.CodeType) -> list[dis.Instruction]:
    """Those of a function, without what the compiler adds behind a return for errors in a comprehension."""
    every = list(dis.get_instructions(code))
    last = max((number for number, each in enumerate(every) if each.opname.startswith("RETURN_")), default=0)
    return every if any(each.opname not in _CLEANING for each in every[last + 1 :]) else every[: last + 1]


def _changes_something(code: types.CodeType) -> bool:
    """Whether code changes anything in place, which may be what it has stored before."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    names = [name for name in code.co_names if name.endswith("_") and not name.endswith("__")]
    changes = (
        each.opname.startswith("INPLACE_") or (each.opname == "BINARY_OP" and each.argrepr.endswith("="))
        for each in dis.get_instructions(code)
    )
    return bool(set(names) - {"requires_grad_"}) or any(changes) or any(map(_changes_something, inner))


_IS_3_11 = sys.version_info[:2] == (3, 11)
_CALLS = frozenset(
    ("PRECALL", "CALL_FUNCTION_EX")
    if _IS_3_11
    else ("CALL", "CALL_KW", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_FUNCTION_EX", "CALL_METHOD")
)
"""The instructions that call a function, with it and its arguments on the stack."""


class _Walk:
    """The instructions of a hook in their order.

    Attributes:
        known: the argument that each variable comes from.
        stack: those of the values on the stack.
        used: the last argument that the present statement has used.
        keeps: whether an argument was stored in something else.
        calls: whether something was called since then that is not known to read only.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.known: dict[str, Any] = {name: name for name in names}
        self.stack: list[Any] = []
        self.used: Any = None
        self.keeps = False
        self.calls = False

    def step(self, instruction: dis.Instruction) -> bool:
        """Follow one instruction; True if it writes into an argument."""
        name, value, stack = instruction.opname, instruction.argval, self.stack
        if name == "STORE_FAST":
            self._store(value)
        elif name == "STORE_FAST_STORE_FAST":
            self._store(value[0])
            self._store(value[1])
        elif name == "STORE_FAST_LOAD_FAST":
            self._store(value[0])
            self._load(value[1])
        elif "_FAST" in name and "LOAD" in name:
            for variable in value if isinstance(value, tuple) else (value,):
                self._load(variable)
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
            count = 3 if name == "STORE_SUBSCR" else 4
            is_whole = name == "STORE_SLICE" or stack[-1] is _Mark.WHOLE
            return self._store_in(stack[1 - count], stack[-count], count, is_whole)
        elif name == "STORE_ATTR":
            return self._store_in(stack[-1], stack[-2], 2, value in ("data", "grad"))
        elif name == "RETURN_GENERATOR":
            stack.append(None)
        elif name == "GEN_START":  # of Python 3.10
            pass
        elif name == "LOAD_CONST":
            stack.append(_Mark.WHOLE if _is_whole(value) else None)
        elif name in ("DELETE_SUBSCR", "DELETE_ATTR"):
            owner = stack[-2 if name == "DELETE_SUBSCR" else -1]
            del stack[-2 if name == "DELETE_SUBSCR" else -1 :]
            return isinstance(owner, str)
        else:
            if name.startswith(("STORE_GLOBAL", "STORE_DEREF", "STORE_NAME")):
                self.keeps = self.keeps or isinstance(stack[-1], str)
            if name in _CALLS:
                called = _called(instruction, stack)
                is_known = (
                    _Mark.READS in called or _Mark.KEEPS in called or any(isinstance(root, str) for root in called)
                )
                self.calls = self.calls or (self.keeps and not is_known)
                self.keeps = self.keeps or (_Mark.KEEPS in called and any(isinstance(root, str) for root in called))
            return _other_step(instruction, stack)
        return False

    def _load(self, name: str) -> None:
        root = self.known.get(name)
        self.used = root if isinstance(root, str) else self.used
        self.stack.append(root)

    def _store(self, name: str) -> None:
        value = self.stack.pop()
        before = self.known.get(name)
        if not isinstance(value, str):
            value = before if isinstance(before, str) else (value if self.used is None else self.used)
        self.known[name] = value
        self.used = None

    def _store_in(self, owner: Any, value: Any, count: int, is_whole: bool = False) -> bool:
        """Take what a store takes. Its owner may be what the hook has kept, unless an item of it gets an argument."""
        del self.stack[-count:]
        is_kept = self.keeps and owner is _Mark.PART and (is_whole or not isinstance(value, str))
        self.keeps = self.keeps or isinstance(value, str)
        self.used = None
        return isinstance(owner, str) or is_kept


def _is_whole(index: Any) -> bool:
    """Whether a constant index selects many items."""
    if isinstance(index, tuple):
        return any(map(_is_whole, index))
    return index is Ellipsis or isinstance(index, slice)


def _called(instruction: dis.Instruction, stack: list[Any]) -> list[Any]:
    """The function and the arguments that a call takes from the stack."""
    effect = dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    return stack[effect - 1 :] if effect < 0 else stack[-1:]


_MADE = {"BINARY_SUBSCR": _Mark.PART, "BINARY_SLICE": _Mark.PART, "BUILD_SLICE": _Mark.WHOLE}
"""What an instruction makes of values that come from no argument."""


def _other_step(instruction: dis.Instruction, stack: list[Any]) -> bool:
    name, effect = instruction.opname, dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        owner, attribute = stack[-1], str(instruction.argval)
        is_written = attribute.endswith("_") and not attribute.endswith("__") and attribute != "requires_grad_"
        if isinstance(owner, str):
            is_copy = not effect and attribute in ("clone", "new_zeros", "shape")
            stack[-1:] = [owner, _Mark.READS] if effect else [None if is_copy else owner]
            return is_written or attribute in _CHANGING
        reads = attribute in _READ_BY_METHODS or (owner is _Mark.MODULE and not is_written)
        mark = _Mark.KEEPS if attribute in _KEEPING else _Mark.READS
        stack[-1:] = [mark if reads else _Mark.PART] * (1 + effect)
        return owner is _Mark.MODULE and is_written
    if name == "LOAD_GLOBAL" and instruction.argval in _EXECUTING:
        return True
    if name == "LOAD_GLOBAL":
        reads, is_module = instruction.argval in _READ, instruction.argval in _MODULES
        stack += [_Mark.READS if reads else _Mark.MODULE if is_module else None] * effect
        return False
    if name.startswith("INPLACE_") or (name == "BINARY_OP" and instruction.argrepr.endswith("=")):
        target = stack[-2]
        stack[-2:] = [target]
        return isinstance(target, str)
    if name == "MAKE_FUNCTION":  # its own code is examined, too
        del stack[len(stack) + effect :]
        stack[-1] = _Mark.READS
        return False
    if name == "POP_ITER" or (name == "END_FOR" and effect == -2):
        del stack[-1:]  # the iterator; the last item was taken already
    elif name == "END_FOR":  # Python 3.13 and later take the iterator with the next instruction
        pass
    elif effect > 0:
        is_part = name in ("FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX")
        stack += [stack[-1] if is_part else None] * effect
    elif effect < 0:
        gone = stack[effect - 1 :] if len(stack) > -effect else stack[effect:]
        if len(stack) < -effect:
            raise IndexError
        reads = _Mark.READS in gone or _Mark.KEEPS in gone
        if name in _CALLS and not reads and any(isinstance(root, str) for root in gone):
            return True
        del stack[effect:]
        if name != "POP_TOP" and not name.startswith(("POP_JUMP", "STORE_", "RETURN", "END_", "JUMP")) and stack:
            stack[-1] = next((root for root in gone if isinstance(root, str)), _MADE.get(name))
    elif stack and name not in _OF_NO_EFFECT and not name.startswith(("JUMP", "DELETE")):
        stack[-1] = stack[-1] if name.startswith(("CALL", "LOAD_", "BUILD_")) else None
    return False
