"""What ``prepare_inputs_for_generation`` returns no longer has ``past_key_values``.

Symptom   Silent: text of a prompt-tuned model (PEFT) that differs from earlier releases; prefix tuning without any
          effect; a ``prepare_inputs_for_generation`` of one's own that begins anew with each token, after
          ``inputs = super().prepare_inputs_for_generation(…)`` and ``inputs.get("past_key_values")``. Or ``KeyError:
          'past_key_values'``.
Cause     5.24.0 returns the cache as ``cache``. The library's models still take the old name; the dict lacks it.
Releases  5.24.0
Upstream  not repaired
Here      A method of this name that was not written in transformers, looks for ``past_key_values`` in a dict, and has
          no word of ``cache``, gets a dict that answers for the old name as well: it reads and sets ``cache``. Only the
          name can be removed; ``cache`` stays. Code gets what the release returns if it asks whether the name is
          absent (``not in``, ``in`` with an alternative, ``not inputs.get(…)``, ``inputs.get(…) is None``), removes
          it, handles a KeyError, makes a dict with it, or slices tensors, unless it is PEFT's: the release has cut
          them already. Loops of one's own get that too, and so do
          subclasses of three models that look for ``cache`` in the dict themselves, a graph of ``torch.compile``, and
          ``use_cache=False``.
"""

from __future__ import annotations

import ast
import sys
from functools import wraps
from types import CodeType
from typing import Any, Callable, Optional

from hotfix._support.memo import weakly
from hotfix.fix import Fix
from hotfix.names.cache_names import all_within, cuts, looks_for, mentions, parameters_of, steps_of, uses_otherwise
from hotfix.patching import compiling

FIX = Fix(
    title="PEFT's prompt tuning and code of your own find no past_key_values among the prepared inputs",
    kind="silent",
    everyone="only an override that looks for past_key_values and does not know cache; the dict has the same items",
    errors=("KeyError: 'past_key_values'",),
    prefilter="prepare_inputs_for_generation",
)

OLD = ("past_key_values", "cache_params")
NEW = "cache"
NAME = "prepare_inputs_for_generation"


@FIX.wraps(("transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation", ">=5.24.0,<=5.24.0"))
def by_both_names(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let the dict answer for the name that the caller knows."""

    @wraps(original)
    def prepare(*args: Any, **kwargs: Any) -> Any:
        inputs = original(*args, **kwargs)
        if compiling.is_compiling() or kwargs.get("use_cache") is False:
            return inputs
        if type(inputs) is dict and NEW in inputs and inputs.keys().isdisjoint(OLD):
            caller = caller_of(sys._getframe(1))
            old = None if caller is None else older_name_in(caller.f_code, is_peft(caller))
            if old is not None:
                return Inputs(inputs, old)
        return inputs

    return prepare


class Inputs(dict[str, Any]):
    """A dict with another name for ``cache``, which is no key of its own.

    Args:
        inputs: the items.
        old: the other name.
    """

    def __init__(self, inputs: Any = (), old: str = OLD[0]) -> None:
        super().__init__(inputs)
        self._old = old
        self._is_removed = False

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def _key(self, key: Any) -> Any:
        return NEW if key == self._old and not self._is_removed else key

    def __contains__(self, key: object) -> bool:
        return super().__contains__(self._key(key))

    def __getitem__(self, key: str) -> Any:
        if key == self._old and not super().__contains__(NEW):
            raise KeyError(key)
        return super().__getitem__(self._key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._is_removed = self._is_removed and key != self._old
        super().__setitem__(self._key(key), value)

    def __delitem__(self, key: str) -> None:
        self[key]
        if key == self._old:
            self._is_removed = True
        else:
            super().__delitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """As of a dict."""
        return super().get(self._key(key), default)

    def pop(self, key: str, *default: Any) -> Any:
        """As of a dict; `cache` stays if the other name is removed, since the release does not have that name."""
        if key != self._old or key not in self:
            return super().pop(key, *default)
        value = self[key]
        self._is_removed = True
        return value

    def setdefault(self, key: str, default: Any = None) -> Any:
        """As of a dict."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *items: Any, **more: Any) -> None:
        """As of a dict."""
        for key, value in dict(*items, **more).items():
            self[key] = value


def caller_of(frame: Any) -> Optional[Any]:
    """The frame of the method of the program's that asked for the inputs.

    None if it is a loop, or a model of the library's that looks for ``cache`` in the dict.

    Args:
        frame: the frame that called the library's function.
    """
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("transformers."):
            # its wrappers, and the methods of its models, which call the general one
            if frame.f_code.co_name not in ("wrapped_func", NAME) or mentions(frame.f_code, NEW):
                return None
        elif not module.startswith("hotfix.") or module.startswith("hotfix.proofs."):  # those stand for programs
            return frame if frame.f_code.co_name == NAME else None
        frame = frame.f_back
    return None


def is_peft(frame: Any) -> bool:
    """Whether the method is PEFT's, which asks for the length of the cache before it cuts the tokens.

    Args:
        frame: of the method.
    """
    return str(frame.f_globals.get("__name__")).startswith("peft.")


@weakly
def older_name_in(code: CodeType, is_known: bool = False) -> Optional[str]:
    """The older name that a function looks for in a dict; None if it mentions the new one, or may need none.

    Args:
        code: the code of the function.
        is_known: whether it is known to compute the same with the name.
    """
    every = list(all_within(code))
    if any(mentions(each, NEW) or NEW in parameters_of(each) for each in every):
        return None
    if not is_known and any(cuts(each) for each in every):
        return None
    names = (name for name in OLD if any(looks_for(name, each) for each in every))
    return next((name for name in names if is_known or not any(may_need_none(name, each) for each in every)), None)


def may_need_none(key: str, code: CodeType) -> bool:
    """Whether a function may be right because the key is absent."""
    handles = not {"KeyError", "LookupError", "Exception"}.isdisjoint(code.co_names)
    return handles or uses_otherwise(key, code) or asks_for_none(key, code) or removes(key, code) or chooses(key, code)


def removes(key: str, code: CodeType) -> bool:
    """Whether a function removes a key from a dict: where the key is absent, the dict stays as it is."""
    steps = steps_of(code)
    for before, step, after in zip(steps, steps[1:], steps[2:]):
        is_it = step.opname == "LOAD_CONST" and step.argval == key
        if is_it and (after.opname == "DELETE_SUBSCR" or before.argval == "pop"):
            return True
    return False


def chooses(key: str, code: CodeType) -> bool:
    """Whether a function has one way with a key and another without: ``a if key in inputs else b``."""
    steps = [step for step in steps_of(code) if step.opname not in ("CACHE", "PRECALL", "TO_BOOL")]
    places = {step.offset: number for number, step in enumerate(steps)}
    for step, _, test, jump in zip(steps, steps[1:], steps[2:], steps[3:]):
        if step.opname == "LOAD_CONST" and step.argval == key and "CONTAINS_OP" in test.opname:
            last = steps[places.get(jump.argval, 1) - 1] if "JUMP" in jump.opname else jump
            if last.opname.startswith(("JUMP", "RETURN")):
                return True
    return False


def asks_for_none(key: str, code: CodeType) -> bool:
    """Whether a function tests ``inputs.get(key) is None``, or ``not inputs.get(key)``.

    Args:
        key: the key.
        code: the code of the function.
    """
    steps = [step for step in steps_of(code) if step.opname not in ("CACHE", "PRECALL", "TO_BOOL")]
    for number, step in enumerate(steps):
        if step.opname != "LOAD_CONST" or step.argval != key or steps[number - 1].argval not in ("get", "pop"):
            continue
        calls = [after for after in steps[number + 1 : number + 3] if after.opname.startswith("CALL")]
        following = steps[steps.index(calls[0], number) + 1 :][:2] if calls else []
        if not following:
            continue
        after, then = following[0], following[-1]
        if after.opname == "UNARY_NOT" or ("JUMP" in after.opname and after.opname.endswith(("_IF_TRUE", "NOT_NONE"))):
            return True
        if after.opname == "LOAD_CONST" and after.argval is None and then.opname == "IS_OP" and then.arg == 0:
            return True
    return False


@FIX.recognises
def returns_the_new_name(function: ast.AST) -> bool:
    """The dict has ``cache``."""
    return "model_inputs['cache'] = cache" in ast.unparse(function)
