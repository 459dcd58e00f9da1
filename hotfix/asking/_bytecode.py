"""Reads bytecode of Python 3.9 to 3.13: arguments, jumps, handlers, and which instruction pushed a value.

An instruction is named by its offset in bytes.
"""

from __future__ import annotations

import opcode
import re
import sys
import types
from bisect import bisect_right
from typing import Any, Optional

_VERSION = sys.version_info[:2]
HAS_TABLE = _VERSION >= (3, 11)
"""Whether handlers are in a table, not set up by instructions."""

NAMES = list(opcode.opname)
_OPS = opcode.opmap
_EXTENDED = _OPS["EXTENDED_ARG"]
_RELATIVE, _ABSOLUTE = frozenset(opcode.hasjrel), frozenset(opcode.hasjabs)
_UNIT = 2 if _VERSION >= (3, 10) else 1
_SILENT = {_OPS[name] for name in ("CACHE", "EXTENDED_ARG", "NOP", "KW_NAMES") if name in _OPS}  # push nothing
_SETUPS = {"SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"}
ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
_GIVING = ("CALL", "LOAD_ATTR", "BINARY_", "SEND", "YIELD_FROM")
_BETWEEN = ("CACHE", "EXTENDED_ARG", "NOP", "END_SEND")
CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION", "CALL_FUNCTION_KW", "CALL_METHOD"}


def _caches() -> dict[int, int]:
    """How many cache entries follow an instruction, if a jump counts them."""
    if _VERSION < (3, 12):
        return {}
    entries: Any = getattr(opcode, "_inline_cache_entries", ())
    pairs = ((_OPS.get(name, -1), count) for name, count in entries.items()) if hasattr(entries, "items") else None
    return dict(pairs if pairs is not None else enumerate(entries))


_CACHES = _caches()


def _any_of(names: set[str], ops: frozenset[int] = frozenset()) -> re.Pattern[bytes]:
    """A pattern for the instructions with one of these names or numbers."""
    numbers = (op for op, name in enumerate(NAMES[:256]) if name in names or op in ops)
    return re.compile(b"[%s]" % b"".join(re.escape(bytes([op])) for op in (*numbers, 255)), re.DOTALL)


_JUMPING = _any_of(set(), _RELATIVE | _ABSOLUTE)
_SETTING_UP = _any_of(_SETUPS)
_CHANGING = _any_of(ENDS | _SETUPS | {"POP_BLOCK", "POP_EXCEPT"}, _RELATIVE | _ABSOLUTE)  # the blocks or the order


class Code:
    """A code object, with queries about its instructions.

    Attributes:
        object: the code object.
        raw: its bytecode.
    """

    def __init__(self, code: types.CodeType) -> None:
        self.object = code
        self.raw = code.co_code
        self._ops = self.raw[::2]
        self._blocks: dict[int, tuple[Optional[int], ...]] = {}
        self._starts: list[int] = []
        self._targets: Optional[set[Optional[int]]] = None
        self._set: Optional[frozenset[str]] = None

    def sets(self, name: str) -> bool:
        """Whether any instruction sets an attribute of this name, or `setattr` may do it."""
        if self._set is None:
            self._set = frozenset(self.named(at) for at in self.every({"STORE_ATTR"}))
        return name in self._set or ("setattr" in self.object.co_names and name in self.object.co_consts)

    def every(self, names: set[str]) -> list[int]:
        """The instructions with these names."""
        numbers = {_OPS[name] for name in names if name in _OPS}
        return [2 * index for index, op in enumerate(self._ops) if op in numbers]

    def name(self, at: int) -> str:
        """The name of an instruction."""
        return NAMES[self.raw[at]] if 0 <= at < len(self.raw) else ""

    def place(self, at: int) -> int:
        """The instruction for `frame.f_lasti`, which may point at a cache entry after it or at a prefix before it."""
        while HAS_TABLE and at > 0 and self.raw[at] == 0:
            at -= 2
        while self.raw[at] == _EXTENDED:
            at += 2
        return at + 4 if self.name(at) == "PRECALL" else at  # a specialized PRECALL of Python 3.11 calls C code itself

    def argument(self, at: int) -> int:
        """The argument of an instruction, with its prefixes."""
        value, shift = self.raw[at + 1], 8
        while at >= 2 and self.raw[at - 2] == _EXTENDED:
            at -= 2
            value |= self.raw[at + 1] << shift
            shift += 8
        return value

    def named(self, at: int) -> str:
        """The name that a `LOAD_NAME`, a `LOAD_ATTR`, an `IMPORT_FROM` or the like reads."""
        op, index = self.name(at), self.argument(at)
        if op == "LOAD_SUPER_ATTR":
            index >>= 2
        elif (op == "LOAD_GLOBAL" and HAS_TABLE) or (op == "LOAD_ATTR" and _VERSION >= (3, 12)):
            index >>= 1
        return self.object.co_names[index]

    def variable(self, at: int, stores: bool = False) -> tuple[str, int]:
        """The variable that an instruction loads or stores: its kind and its index."""
        name, index = self.name(at), self.argument(at)
        if name in ("STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST"):  # Python 3.13
            return "FAST", index >> 4 if stores else index & 15
        return name.partition("_")[2], index >> (name == "LOAD_GLOBAL" and HAS_TABLE)

    def loads(self, at: int) -> list[tuple[str, int]]:
        """The variables that an instruction loads, as `variable` gives them; a closure loads all that are shared."""
        name, index = self.name(at), self.argument(at)
        if name == "LOAD_FAST_LOAD_FAST":  # Python 3.13
            return [("FAST", index >> 4), ("FAST", index & 15)]
        if name == "LOAD_CLOSURE":
            return [("DEREF", number) for number in range(index + 1)]
        if not name.startswith("LOAD_") and name != "STORE_FAST_LOAD_FAST":
            return []
        kind, index = self.variable(at)
        return [(kind.removesuffix("_CHECK"), index)]

    def local(self, at: int) -> Optional[str]:
        """The name of the local variable, or of the one of an enclosing function, that an instruction loads."""
        name, index, code = self.name(at), self.argument(at), self.object
        if name in ("LOAD_FAST", "LOAD_FAST_CHECK"):
            return code.co_varnames[index]
        if name not in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            return None
        if HAS_TABLE:  # one list of all variables
            cells = (cell for cell in code.co_cellvars if cell not in code.co_varnames)
            return (*code.co_varnames, *cells, *code.co_freevars)[index]
        return (*code.co_cellvars, *code.co_freevars)[index]

    def jump(self, at: int) -> Optional[int]:
        """The target of a jump instruction, or None."""
        op = self.raw[at]
        if op in _ABSOLUTE:
            return self.argument(at) * _UNIT
        if op not in _RELATIVE:
            return None
        distance = self.argument(at) * _UNIT
        return at + 2 + 2 * _CACHES.get(op, 0) + (-distance if "BACKWARD" in NAMES[op] else distance)

    def pushed_by(self, at: int, above: int = 0) -> int:
        """The instruction that pushed a value that another one pops; -1 if that depends on the path.

        Args:
            at: the instruction that pops it.
            above: how many values are above it on the stack.
        """
        if self._targets is None:
            self._targets = {self.jump(jump.start() * 2) for jump in _JUMPING.finditer(self._ops)}
        while at not in self._targets:  # where two paths meet, each may have pushed another value
            at -= 2
            if at < 0 or self.jump(at) is not None or self.name(at) in ENDS:
                return -1
            op = self.raw[at]
            if op in _SILENT:
                continue
            effect = opcode.stack_effect(op, self.argument(at) if op >= opcode.HAVE_ARGUMENT else None)
            if above <= max(effect - 1, 0):
                return at
            above -= effect
        return -1

    def call(self, at: int) -> tuple[int, list[int]]:
        """The instructions that pushed the callee of a call, and its positional arguments; -1 if unknown.

        The only argument of a call with ``*args`` is their tuple.
        """
        if self.name(at) == "CALL_FUNCTION_EX":
            words = self.argument(at) & 1
            callee = self.pushed_by(at, 1 + words)
            if self.name(callee) == "PUSH_NULL" and _VERSION >= (3, 13):
                callee = self.pushed_by(callee)
            return callee, [self.pushed_by(at, words)]
        words = self.name(at) in ("CALL_KW", "CALL_FUNCTION_KW")  # a tuple of names is on top
        count = self.argument(at)
        if self.name(at - 2) == "PRECALL" or (self.name(at - 4) == "PRECALL" and self.raw[at - 2] == 0):
            at -= 2 if self.name(at - 2) == "PRECALL" else 4
        callee = self.pushed_by(at, count + words)
        if self.name(callee) == "PUSH_NULL" and _VERSION >= (3, 13):
            callee = self.pushed_by(callee)
        return callee, [self.pushed_by(at, count + words - 1 - index) for index in range(count)]

    def is_used(self, at: int) -> bool:
        """Whether the result of an instruction is used; not if its variable is never assigned elsewhere."""
        if not self.name(at).startswith(_GIVING):
            return False
        behind = at + 2 if (target := self.jump(at)) is None else target  # the end of an `await`
        while self.name(behind) in _BETWEEN:
            behind += 2
        name = self.name(behind)
        if not name.startswith("STORE_") or name in ("STORE_ATTR", "STORE_SUBSCR"):
            return name != "POP_TOP"
        stores = (other for other in range(0, len(self.raw), 2) if self.name(other).startswith("STORE_"))
        return sum(self.variable(other, stores=True) == self.variable(behind, stores=True) for other in stores) > 1

    # -- handlers ------------------------------------------------------------------------------------------------------

    def handler(self, at: int) -> Optional[int]:
        """The handler to which Python jumps when an instruction raises, or None if the error leaves the code."""
        if not HAS_TABLE:
            setups = (match.start() * 2 for match in _SETTING_UP.finditer(self._ops, 0, at // 2))
            if all((self.jump(setup) or 0) <= at for setup in setups):
                return None  # the usual case, and fast
            return next((block for block in reversed(self.blocks(at)) if block is not None), None)
        return next((target for start, end, target in self._table(at) if start <= at < end), None)

    def manager(self, handler: int) -> int:
        """The instruction that pushed the context manager of the `with` block that a handler belongs to, or -1."""
        if HAS_TABLE:
            at = next((start for start, _, target in self._table() if target == handler), 0)
            while at >= 0 and self.name(at) not in ("BEFORE_WITH", "BEFORE_ASYNC_WITH"):
                at -= 2
        else:
            places = range(0, len(self.raw), 2)
            at = next((at for at in places if "_WITH" in self.name(at) and self.jump(at) == handler), -1)
            while self.name(at) in ("SETUP_ASYNC_WITH", "YIELD_FROM", "LOAD_CONST", "GET_AWAITABLE"):
                at -= 2  # to BEFORE_ASYNC_WITH
        return self.pushed_by(at) if at >= 0 else -1

    def _table(self, at: int = -1) -> list[tuple[int, int, int]]:
        """The exception table: start, end and handler; only the relevant part if an instruction is given."""
        data, low = self.object.co_exceptiontable, 0  # type: ignore[attr-defined]  # since Python 3.11
        high = len(data)
        while at >= 0 and high - low > 64:  # an entry begins with bit 7
            middle = (low + high) // 2
            while not data[middle] & 128:
                middle -= 1
            if middle <= low:
                break
            if _number(data, middle)[0] * 2 <= at:
                low = middle
            else:
                high = middle
        entries = []
        while low < high:
            start, low = _number(data, low)
            length, low = _number(data, low)
            target, low = _number(data, low)
            _, low = _number(data, low)
            entries.append((start * 2, (start + length) * 2, target * 2))
        return entries

    def blocks(self, at: int) -> tuple[Optional[int], ...]:
        """The handlers of the blocks around an instruction, innermost last; None for a running handler.

        For Python 3.9 and 3.10. Each instruction that changes the blocks or the order is followed once.
        """
        if not self._starts:
            todo: list[tuple[int, tuple[Optional[int], ...]]] = [(0, ())]
            while todo:
                here, blocks = todo.pop()
                while here < len(self.raw) and here not in self._blocks:
                    self._blocks[here] = blocks
                    change = _CHANGING.search(self._ops, here // 2)
                    if change is None:
                        break
                    here = change.start() * 2
                    name, target = self.name(here), self.jump(here)
                    if name in _SETUPS and target is not None:
                        todo.append((target, (*blocks, None)))
                        blocks = (*blocks, target)
                    elif name in ("POP_BLOCK", "POP_EXCEPT"):
                        blocks = blocks[:-1]
                    elif target is not None:
                        todo.append((target, blocks))
                    if name in ENDS or name in ("JUMP_FORWARD", "JUMP_ABSOLUTE"):
                        break
                    here += 2
            self._starts = sorted(self._blocks)
        return self._blocks[self._starts[bisect_right(self._starts, at) - 1]]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of the exception table, and the offset of the next one."""
    value = data[at] & 63
    while data[at] & 64:
        at += 1
        value = value << 6 | data[at] & 63
    return value, at + 1
