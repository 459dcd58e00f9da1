"""``config.rope_scaling`` is a dictionary without ``type`` where nothing is scaled.

Symptom   ``KeyError: 'type'`` or ``KeyError: 'factor'`` while a model is built: remote code of DeepSeek, MiniCPM, Phi
          and other copies of Llama that tests ``config.rope_scaling is None`` first.
Cause     The attribute is another name of ``rope_parameters`` now, which holds the base as well, so it is never
          None. The kind is called ``rope_type`` in it.
Releases  5.0.0 and later
Upstream  not put back
Here      If nothing is scaled, the attribute is None for a test ``… is None`` whose other branch, on a straight line,
          reads a key that the dictionary lacks. A direct ``config.rope_scaling["type"]`` gets the kind. Both happen
          only where the program does not handle the KeyError; all other code gets what the release has.
"""

from __future__ import annotations

import dis
import sys
import types
from functools import lru_cache, wraps
from typing import Any, Callable, NamedTuple, Optional

from hotfix import asking
from hotfix.fix import Fix
from hotfix.patching import compiling

_REPLACED_SINCE = (
    "deepseek_v3.configuration_deepseek_v3:DeepseekV3Config",
    "longcat_flash.configuration_longcat_flash:LongcatFlashConfig",
    "mistral4.configuration_mistral4:Mistral4Config",
)
_FILLS = "it fills the dictionary of one model; what is read is the property"
_NAME = "rope_scaling"

FIX = Fix(
    title="KeyError: 'type', from config.rope_scaling[\"type\"] after a test for None",
    kind="removed-api",
    group="removed-names",
    errors=("KeyError: 'type'", "KeyError: 'factor'"),
    exempt={
        "*Config.convert_rope_params_to_dict": _FILLS,
        **{f"transformers.models.{place}.convert_rope_params_to_dict": _FILLS for place in _REPLACED_SINCE},
    },
    prefilter="def convert_rope_params_to_dict",
    everyone="only a read that would raise a KeyError, by the bytecode of the code that reads",
)


@FIX.wraps(
    ("transformers.configuration_utils:PreTrainedConfig.rope_scaling", ">=5.0.0"),
    fingerprint_of=("transformers.modeling_rope_utils:RotaryEmbeddingConfigMixin.convert_rope_params_to_dict",),
)
def as_read(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What the code that reads the attribute expects, where it would fail otherwise."""

    @wraps(original)
    def rope_scaling(self: Any) -> Any:
        parameters = original(self)
        if type(parameters) is not dict or "type" in parameters or compiling.is_compiling():
            return parameters  # a dictionary of the program's own class may know more keys than it lists
        return _for_the_reader(parameters, sys._getframe().f_back)

    return rope_scaling


@FIX.recognises
def is_broken(function: Any) -> bool:
    """The parameters take the place of the scaling."""
    return bool(function.name == "convert_rope_params_to_dict")


class Read(NamedTuple):
    """How code reads the attribute at one place.

    Attributes:
        keys: the keys that the branch for a dictionary reads first, if it is a test for None.
        key: the key that is read from the attribute directly.
    """

    keys: tuple[str, ...] = ()
    key: str = ""


def _for_the_reader(parameters: dict[str, Any], frame: Optional[types.FrameType]) -> Any:
    """The parameters, or what old code expects in their place."""
    while frame is not None and frame.f_code.co_name == "__getattribute__" and _is_of_the_library(frame):
        frame = frame.f_back
    if frame is None or _is_of_the_library(frame):
        return parameters
    read = reads(frame.f_code).get(frame.f_lasti, Read())
    if not (read.key == "type" or set(read.keys) - set(parameters)) or asking.is_handled(KeyError, frame):
        return parameters
    kind = parameters.get("rope_type", "default")
    if read.key:
        return parameters if kind == "default" else {**parameters, "type": kind}
    return None if kind == "default" else parameters


def _is_of_the_library(frame: types.FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "transformers"


@lru_cache(maxsize=128)
def reads(code: types.CodeType) -> dict[int, Read]:
    """How a function reads the attribute, by the offset of the instruction.

    Args:
        code: of the function.
    """
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG", "NOP")]
    if getattr(code, "co_exceptiontable", b"") or any(step.opname.startswith("SETUP_") for step in steps):
        return {}  # a handler may be around the subscript alone
    numbers = {step.offset: number for number, step in enumerate(steps)}
    results = {}
    for number, step in enumerate(steps):
        if step.opname != "LOAD_ATTR" or step.argval != _NAME:
            continue
        branches = _branches(steps, numbers, number)
        keys = tuple(key for branch in branches for key in _straight(steps, branch, _owner(steps, number)))
        read = Read(keys, _key_after(steps, number))
        if read != Read():
            results[step.offset] = read
    return results


def _key_after(steps: list[dis.Instruction], number: int) -> str:
    """The key of a subscript of the attribute, or an empty string."""
    after = [(step.opname, step.argval) for step in steps[number + 1 : number + 3]]
    if len(after) < 2 or after[0][0] != "LOAD_CONST" or after[1][0] != "BINARY_SUBSCR":
        return ""
    return after[0][1] if isinstance(after[0][1], str) else ""


def _branches(steps: list[dis.Instruction], numbers: dict[int, int], number: int) -> list[int]:
    """The first instruction of the branch for a dictionary, if the attribute is only compared with None; else none."""
    jump = steps[number + 1 :][:3]
    if [step.opname for step in jump[:2]] == ["LOAD_CONST", "IS_OP"] and jump[0].argval is None and len(jump) == 3:
        if "POP_JUMP" not in jump[2].opname:
            return []
        jumps_if_none = ("TRUE" in jump[2].opname) != bool(jump[1].arg)
        at = number + 3
    elif jump and "POP_JUMP" in jump[0].opname and jump[0].opname.endswith("NONE"):
        jumps_if_none = not jump[0].opname.endswith("NOT_NONE")
        at = number + 1
    else:
        return []
    if jumps_if_none:
        return [at + 1]
    return [numbers[steps[at].argval]] if steps[at].argval in numbers else []


_READING = ("get", "keys", "values", "items", "copy")
_HARMLESS = (*_READING, _NAME, "float", "int", "str", "len", "isinstance", "print")
"""Functions that change no dictionary, and the attribute itself, of which a call was given a value."""


def _owner(steps: list[dis.Instruction], number: int) -> tuple[Any, ...]:
    """The object that has the attribute: a variable, and attributes of it."""
    names: list[Any] = []
    while number > 0:
        number -= 1
        value = steps[number].argval
        names.append(value[-1] if isinstance(value, tuple) else value)
        if steps[number].opname != "LOAD_ATTR":
            break
    return tuple(names)


def _straight(steps: list[dis.Instruction], number: int, owner: tuple[Any, ...]) -> list[str]:
    """The keys that are read from the owner's attribute before the next jump, and before anything could change it."""
    keys: list[str] = []
    named: set[str] = set()  # in the present statement
    while number < len(steps) and "JUMP" not in steps[number].opname and steps[number].opname[:6] != "RETURN":
        if steps[number].opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
            break
        if steps[number].opname.startswith("CALL") and not named.issubset((*_HARMLESS, *owner)):
            break
        if steps[number].opname.startswith(("STORE_", "POP_TOP")):
            named.clear()
        if steps[number].opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_NAME"):
            named.add(steps[number].argval)
        if steps[number].argval == _NAME and _owner(steps, number) == owner:
            key = _key_after(steps, number) if steps[number].opname == "LOAD_ATTR" else ""
            if not key and steps[number + 1].argval not in _READING:  # it is assigned, or given to another function
                break
            keys += [key] if key else []
        number += 1
    return keys
