"""Whether hooks may change the inputs or the outputs of a module."""

from __future__ import annotations

import dis
import sys
import types
from typing import Any

from hotfix.patching import scope

_codes: dict[types.CodeType, bool] = {}


def only_read(module: Any, fix: str = "") -> bool:
    """Whether hooks leave the inputs and outputs of a module as they are.

    Hooks that return nothing do, unless they write into what they are given, and so do the hooks of packages that pass
    calls through: DeepSpeed's engine at stage 3 has two on every module, which add a node for the backward pass to the
    output; accelerate's own kind of hooks move tensors.

    Args:
        module: a ``torch.nn.Module``.
        fix: id of the fix that asks; the report names the first hook that may change something.
    """
    of_all: Any = sys.modules["torch.nn.modules.module"]
    for hooks in (
        module._forward_hooks,
        module._forward_pre_hooks,
        of_all._global_forward_hooks,
        of_all._global_forward_pre_hooks,
    ):
        if hooks and not all(_returns_nothing(hook) or scope.is_own(fix, hook) for hook in hooks.values()):
            return False
    moves = module.__dict__.get("_hf_hook")
    return all(scope.is_class_of(fix, hook, "accelerate") for hook in (moves, *getattr(moves, "hooks", ())))


def _returns_nothing(hook: Any) -> bool:
    function = getattr(hook, "__func__", hook)
    return isinstance(function, types.FunctionType) and _has_no_value(function.__code__)


@scope.settled
def _has_no_value(code: types.CodeType) -> bool:
    known = _codes.get(code)
    if known is None:
        known = _codes[code] = _returns_only_none(code) and not _writes(code)
    return known


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


def _writes(code: types.CodeType) -> bool:
    """Whether a hook may write into its arguments but the module: ``output *= 2``, ``args[0].mul_(2)``, ``out=``.

    The instructions are followed in their order, with the argument that each value on the stack comes from.
    """
    if any(isinstance(constant, tuple) and "out" in constant for constant in code.co_consts):
        return True
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    known: dict[str, Any] = {name: name for name in names[2 if names[:1] == ("self",) else 1 :]}
    stack: list[Any] = []
    try:
        return any(_step(instruction, stack, known) for instruction in dis.get_instructions(code))
    except IndexError:  # a jump has left more on the stack than the order of the instructions shows
        return True


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
        return container is not None
    elif name == "STORE_ATTR":
        owner = stack[-1]
        del stack[-2:]
        return owner is not None
    else:
        return _other_step(instruction, stack)
    return False


def _other_step(instruction: dis.Instruction, stack: list[Any]) -> bool:
    name, effect = instruction.opname, dis.stack_effect(instruction.opcode, instruction.arg, jump=False)
    if name in ("LOAD_ATTR", "LOAD_METHOD"):
        writes = stack[-1] is not None and instruction.argval.endswith("_") and instruction.argval != "requires_grad_"
        stack += [None] * effect
        if effect:  # a method, below or above its object
            stack[-2:] = [stack[-2], stack[-2]]
        elif instruction.argval in ("clone", "new_zeros", "shape"):
            stack[-1] = None
        return writes
    if name.startswith("INPLACE_") or (name == "BINARY_OP" and instruction.argrepr.endswith("=")):
        target = stack[-2]
        stack[-2:] = [target]
        return target is not None
    if name in ("END_FOR", "POP_ITER"):
        del stack[-1:]  # behind the loop, whose item and iterator were taken already
    elif effect > 0:
        is_part = name in ("FOR_ITER", "UNPACK_SEQUENCE", "UNPACK_EX")
        stack += [stack[-1] if is_part else None] * effect
    elif effect < 0:
        gone = stack[effect - 1 :] if len(stack) > -effect else stack[effect:]
        if len(stack) < -effect:
            raise IndexError
        del stack[effect:]
        if name != "POP_TOP" and not name.startswith(("POP_JUMP", "STORE_", "RETURN", "END_", "JUMP")) and stack:
            stack[-1] = next((root for root in gone if root is not None), None)
    elif stack and name not in _OF_NO_EFFECT and not name.startswith(("JUMP", "DELETE")):
        stack[-1] = stack[-1] if name.startswith(("CALL", "LOAD_")) else None
    return False
