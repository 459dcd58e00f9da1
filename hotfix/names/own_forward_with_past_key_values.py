"""``generate()`` passes ``cache`` to models whose own ``forward`` takes ``past_key_values``.

Symptom   Silent if ``forward`` has ``**kwargs``, which takes in the cache: from the second token on the model sees the
          last token alone, and writes nonsense. Without ``**kwargs``: ``TypeError: MyModel.forward() got an unexpected
          keyword argument 'cache'``. Remote code, and subclasses with a ``forward`` of their own. So is
          ``generate(inputs_embeds=…)`` of models with a ``prepare_inputs_for_generation`` of their own: it finds no
          past, and gives the model the prompt again in each step.
Cause     5.24.0 renames the argument. The library's models still take the old name; nothing translates the new one for
          code that was written before.
Releases  5.24.0
Upstream  not repaired
Here      Such a model gets the cache by the name that its ``forward`` has, ``past_key_values`` or ``cache_params``, as
          in 5.23.0. That is so if ``forward`` was not written in transformers, hands an argument of the old name to a
          call, fills it by ``update``, or puts it into a dict, and has no word of the new one, and if the library
          prepares the inputs. Code that only tests it, or calculates with it, gets what the release gives it. A
          ``prepare_inputs_for_generation`` of this kind gets it with ``inputs_embeds`` alone: with tokens, which it
          passes all again, it is right, if slow, and ``forward`` gets no cache that has these tokens. A ``forward``
          that passes its ``**kwargs`` on passes the cache on with them, and is left alone: it may only log or refuse
          the old name. So is a model with a ``__call__`` or a hook of its own, which may translate, and a strict
          ``forward`` if the program handles the TypeError.
"""

from __future__ import annotations

import ast
import dis
import sys
from copy import copy
from functools import wraps
from types import CodeType
from typing import Any, Callable, Optional

from hotfix._support.memo import weakly
from hotfix.fix import Fix
from hotfix.names import overrides
from hotfix.names.cache_names import all_within, lets_keywords_go, older_name, steps_of

FIX = Fix(
    title="generate() passes `cache` to a forward of your own that takes `past_key_values`, and the text is nonsense",
    kind="silent",
    everyone="only a model whose own forward reads the old name and does not know the new one: the new code tests it",
    errors=("TypeError: …forward() got an unexpected keyword argument 'cache'",),
    prefilter="_validate_model_kwargs",
)

OLD = ("past_key_values", "cache_params")
NEW = "cache"


# Every `generate()` calls it before the first step.
@FIX.wraps(
    ("transformers.generation.utils:GenerationMixin._validate_model_kwargs", ">=5.24.0,<=5.24.0"),
    fingerprint_of=("GenerationMixin._validate_model_kwargs", "GenerationMixin.prepare_inputs_for_generation"),
)
def for_older_models(original: Callable[..., Any]) -> Callable[..., Any]:
    """Check before the first step by which name the model takes a cache."""

    @wraps(original)
    def validate(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_of_forward = name_of_the_cache(self) is not None
        is_silent = name_in_prepare(self) is not None or (is_of_forward and overrides.takes(self.forward, NEW))
        if is_silent or (is_of_forward and overrides.would_end(TypeError)):
            overrides.around(type(self), FIX.id, by_the_older_name, outer=True)
        return original(self, *args, **kwargs)

    return validate


def by_the_older_name(model: Any, prepare: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """The inputs of a step, with the name of the cache that the model knows.

    Args:
        model: the model; another one of its class may have another ``forward``.
        prepare: its ``prepare_inputs_for_generation``.
        args: its arguments.
        kwargs: its arguments.
    """
    if not overrides.is_for_the_library(sys._getframe(1)):
        return prepare(*args, **kwargs)
    old = name_in_prepare(model) if kwargs.get("inputs_embeds") is not None else None
    if old is not None and kwargs.get(NEW) is not None and kwargs.get(old) is None:
        kwargs[old] = kwargs.pop(NEW)
    inputs = prepare(*args, **kwargs)
    old = name_of_the_cache(model)
    tokens = args[0] if args else kwargs.get("input_ids")
    if old is not None and NEW in inputs and inputs.keys().isdisjoint(OLD) and not repeats(inputs, tokens):
        inputs = copy(inputs)  # the model may keep what it returns
        inputs[old] = inputs.pop(NEW)
    return inputs


def repeats(inputs: Any, tokens: Any) -> bool:
    """Whether the inputs of a step have all tokens, although the cache has some of them: then the model needs no cache.

    Args:
        inputs: of ``forward``.
        tokens: all tokens so far, ``(batch, length)``, or None.
    """
    length = getattr(inputs[NEW], "get_seq_length", None)
    passed = inputs.get("decoder_input_ids", inputs.get("input_ids"))
    if length is None or not isinstance(passed, type(tokens)) or not hasattr(tokens, "shape"):
        return False
    # Behind embeddings, the cache has more than the tokens.
    return bool(passed.shape == tokens.shape and passed.shape[-1] > length() > 0)


def name_of_the_cache(model: Any) -> Optional[str]:
    """The older name by which a model's own ``forward`` reads a cache; None if it knows the new one, or if in doubt."""
    return _name_in(_code(model.forward)) if overrides.reaches_forward(model) else None


def name_in_prepare(model: Any) -> Optional[str]:
    """The same of its ``prepare_inputs_for_generation``; None if that passes its arguments to the library's."""
    code = _code(type(model).prepare_inputs_for_generation)
    return None if code is None or "super" in code.co_names else _name_in(code)


def _name_in(code: Optional[CodeType]) -> Optional[str]:
    """The name in a function; None if ``**kwargs`` take the cache on to the next one, as ``super().forward``."""
    name = None if code is None or lets_keywords_go(code) else older_name(code, OLD, NEW)
    return name if code is not None and name is not None and hands_on(code, name) else None


@weakly
def hands_on(code: CodeType, name: str) -> bool:
    """Whether a function gives a variable to a call, or calls its ``update``, or puts it into a dict or a sequence.

    Args:
        code: the code of the function.
        name: of the variable; others that it is assigned to count as well.
    """
    if any(name in inner.co_freevars for inner in all_within(code)):
        return True
    steps = [step for step in steps_of(code) if step.opname not in ("CACHE", "NOP", "RESUME", "KW_NAMES")]
    names, seen = [name], {name}
    for each in names:
        for number, step in enumerate(steps):
            loaded = _loaded(step)
            for place, variable in enumerate(loaded):
                if variable != each or steps[number - 1].argval in _QUESTIONS:
                    continue
                end = _taken_by(steps, number + 1, len(loaded) - place)
                if end is None:
                    continue
                if end.opname.startswith(_HANDS_ON) or (end.opname in _READS and end.argval == "update"):
                    return True
                if end.opname.startswith("STORE_FAST"):
                    other = end.argval[0] if isinstance(end.argval, tuple) else end.argval
                    names += {other} - seen
                    seen.add(other)
    return False


_QUESTIONS = ("isinstance", "hasattr", "getattr", "print", "len", "type", "id", "bool", "str", "repr")
_READS = ("LOAD_ATTR", "LOAD_METHOD")
_HANDS_ON = (
    *("CALL", "PRECALL", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "BUILD_TUPLE", "BUILD_LIST"),
    *("DICT_", "LIST_", "STORE_SUBSCR"),
)


def _loaded(step: dis.Instruction) -> tuple[Any, ...]:
    """The variables of a function that an instruction loads."""
    if "LOAD_FAST" not in step.opname and "LOAD_DEREF" not in step.opname:
        return ()
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return names[1:] if step.opname.startswith("STORE_") else names


def _taken_by(steps: list[dis.Instruction], number: int, height: int) -> Optional[dis.Instruction]:
    """The instruction that takes a value off the stack; None if that is not found.

    Args:
        steps: the instructions.
        number: the place of the first one with the value on the stack.
        height: at which place the value is from the top, 1 for the topmost one.
    """
    while number < len(steps):
        step = steps[number]
        number += 1
        if step.opname == "JUMP_FORWARD":
            number = next((place for place, each in enumerate(steps) if each.offset >= step.argval), len(steps))
            continue
        effect = dis.stack_effect(step.opcode, step.arg if step.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        if step.opname in _READS or step.opname == "STORE_FAST_LOAD_FAST":
            taken = 1
        elif step.opname.startswith(("STORE_", "POP_", "DICT_", "LIST_", "DELETE_")):
            taken = -effect
        elif step.opname.startswith(("LOAD_", "COPY", "PUSH_", "DUP_", "SWAP", "ROT_")):
            taken = 0
        else:
            taken = 1 - effect
        if taken >= height:
            return step
        height += effect
    return None


def _code(function: Any) -> Optional[CodeType]:
    """The code of a function or method that was not written in transformers."""
    function = overrides.below_wrappers(getattr(function, "__func__", function))
    return None if overrides.is_of_the_library(function) else getattr(function, "__code__", None)


@FIX.cleans_up
def restore() -> None:
    """Restore the classes."""
    overrides.forget(FIX.id)


@FIX.recognises
def passes_the_new_name(*definitions: ast.AST) -> bool:
    """The second function, which prepares the inputs, returns the new name."""
    text = ast.unparse(definitions[-1]) if len(definitions) == 2 else ""
    return "model_inputs['cache'] = cache" in text
