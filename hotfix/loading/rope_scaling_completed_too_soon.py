"""Remote code: ``rope_scaling`` is completed before the configuration has checked it.

Symptom   ``ValueError: `rope_scaling` must be a dictionary with two fields`` from the remote code of Phi-3, InternLM2
          or MiniCPM; ``AttributeError: ... has no attribute 'max_position_embeddings'`` if a configuration sets that
          after a YaRN scaling.
Cause     An assignment to ``rope_scaling`` adds the type and the base at once, even before the library's ``__init__``
          is called, which adds them when all other attributes are set.
Releases  5.21.0
Upstream  fixed in 5.21.1
Here      If the class demands exactly two fields itself (in ``_rope_scaling_validation``), a scaling that it sets
          before that ``__init__`` stays unchanged, as in 5.21.1. Any other scaling is completed as before, or stays
          unchanged if that raises the AttributeError. Direct callers of the function get a completed scaling, as
          before. A program that handles the error gets it.
"""

from __future__ import annotations

import copy
import dis
import sys
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.pattern import occurs

FIX = Fix(
    title="Remote code raises: `rope_scaling` must be a dictionary with two fields, on transformers 5.21.0",
    kind="crash",
    fixed_in="5.21.1",
    errors=(
        "ValueError: `rope_scaling` must be a dictionary with two fields, `type` and `factor`, got …",
        "AttributeError: '…Config' object has no attribute 'max_position_embeddings'",
    ),
    everyone="only for classes that check two fields themselves, and after the AttributeError: the new code tests it",
    prefilter="self.standardize_rope_params()",
)

_FILLING = ("PRECALL", "CACHE", "TO_BOOL", "NOT_TAKEN", "EXTENDED_ARG", "NOP")
_ENDS = ("RAISE", "STORE", "RETURN", "JUMP")  # of steps that are done in every case


@FIX.wraps(
    ("transformers.modeling_rope_utils:RotaryEmbeddingConfigMixin.standardize_rope_params", "==5.21.0"),
    fingerprint_of=("transformers.configuration_utils:PreTrainedConfig.rope_scaling",),
)
def once_it_has_its_fields(original: Callable[[Any], None]) -> Callable[[Any], None]:
    """Leave a scaling alone that is set before the library's ``__init__`` is called."""

    def standardize_rope_params(self: Any) -> None:
        # The library's __init__ sets problem_type on every configuration.
        if "problem_type" in vars(self) or sys._getframe(1).f_code.co_name != "rope_scaling":
            original(self)
        elif not _demands_two_fields(getattr(type(self), "_rope_scaling_validation", None)):
            before = copy.deepcopy(vars(self).get("rope_parameters"))
            try:
                original(self)
            except AttributeError:
                if scope.is_handled(FIX.id, AttributeError, sys._getframe(1)):
                    raise
                vars(self)["rope_parameters"] = before
        elif scope.is_handled(FIX.id, ValueError, sys._getframe(1)):
            original(self)

    return standardize_rope_params


def _demands_two_fields(validation: Any) -> bool:
    """Whether a method raises, depending on whether a scaling has two fields.

    A completed one has more, so "at least 2" suits it. A method that only branches may suit either.
    """
    code = getattr(validation, "__code__", None)
    if code is None or "len" not in code.co_names:
        return False
    steps = [step for step in dis.get_instructions(code) if step.opname not in _FILLING]
    for place, (scaling, call, number, comparison) in enumerate(zip(steps, steps[1:], steps[2:], steps[3:])):
        if call.opname.startswith("CALL") and number.argval == 2 and comparison.opname == "COMPARE_OP":
            is_equality = any(sign in str(comparison.argval) for sign in ("==", "!="))
            is_scaling = scaling.opname.startswith("LOAD_FAST") or scaling.argval == "rope_scaling"
            if is_equality and is_scaling and _decides_on_an_error(steps[place + 4 :]):
                return True
    return False


def _decides_on_an_error(steps: list[dis.Instruction]) -> bool:
    """Whether the first of these steps chooses where to continue, and one of both ways leads straight to a raise."""
    if not steps or "JUMP" not in steps[0].opname:
        return False
    return _raises(steps[1:]) or _raises([step for step in steps if step.offset >= steps[0].argval])


def _raises(steps: list[dis.Instruction]) -> bool:
    ends = (step.opname for step in steps if any(word in step.opname for word in _ENDS))
    return next(ends, "").startswith("RAISE")


@FIX.recognises
def is_broken(function: Any) -> bool:
    """Whether every assignment completes the scaling."""
    return occurs("if value is not None:\n    self.standardize_rope_params()", function)
