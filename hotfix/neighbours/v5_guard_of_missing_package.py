"""Packages import what is not installed: ``_is_package_available`` returns a pair, and a pair is always true.

Symptom   ``RuntimeError: Failed to import trl.trainer.dpo_trainer because of the following error: No module named
          'mergekit'`` from ``from trl import DPOTrainer`` of TRL before 0.26; the same of ``llm_blender``,
          ``liger_kernel``, ``weave`` and ``vllm_ascend``.
Cause     ``if is_mergekit_available():`` of other packages asks ``_is_package_available("mergekit")``, which returns
          ``(False, None)`` since 5.3.0.
Releases  5.3.0 and later
Upstream  not changed back
Here      The pair of a missing package is false where the program would crash: in an ``if`` whose block begins with
          imports, one of them of this package, and no handler around it. Everywhere else it is true, as in the
          release; it can be unpacked, indexed and compared as before, and pickle makes a tuple of it. Code that neither
          tests nor returns the answer, and does not keep it as ``…available``, gets the release's tuple.
          ``v5-is-package-available-tuple``, if it is asked for, makes it false for everybody.
"""

from __future__ import annotations

import ast
import builtins
import dis
import sys
import types
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Callable, Optional

from hotfix import asking
from hotfix.fix import Fix
from hotfix.patching import compiling

_MISSING = ("mergekit", "llm_blender", "liger_kernel", "weave", "vllm_ascend")

FIX = Fix(
    title="RuntimeError: Failed to import trl.trainer.dpo_trainer: No module named 'mergekit'",
    kind="crash",
    prefilter="def _is_package_available",
    everyone="the pair is as true as before, except in an `if` whose block imports the missing package",
    errors=tuple(f"RuntimeError: Failed to import trl.… because of …No module named '{name}'" for name in _MISSING),
)

_TESTS = ("POP_JUMP_IF_FALSE", "POP_JUMP_FORWARD_IF_FALSE")
_IMPORTING = {"IMPORT_NAME", "IMPORT_FROM", "STORE_NAME", "STORE_GLOBAL", "STORE_FAST", "POP_TOP", "LOAD_CONST"}
_EMPTY = ("CACHE", "NOP", "TO_BOOL", "EXTENDED_ARG")
_IMPORTING |= {"NOP", "EXTENDED_ARG", "CACHE", "SWAP", "ROT_TWO", "LOAD_SMALL_INT"}


@FIX.recognises
def returns_pairs(node: ast.AST) -> bool:
    """Whether it returns a pair without a request for the version."""
    named = isinstance(node, ast.FunctionDef) and node.name == "_is_package_available"
    return named and "return (package_exists, None)" in ast.unparse(node)


@FIX.wraps(("transformers.utils.import_utils:_is_package_available", ">=5.3.0"))
def false_before_an_import(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a pair that is false where the program would end."""

    def _is_package_available(pkg_name: str, return_version: bool = False) -> Any:
        answer = original(pkg_name, return_version)
        is_missing = type(answer) is tuple and not return_version and not answer[0]
        if not is_missing or compiling.is_compiling():
            return answer
        frame = sys._getframe(1)
        return _pair(pkg_name, answer) if _is_for_a_test(frame.f_code, frame.f_lasti) else answer

    return _is_package_available


class Missing(tuple[bool, Any]):
    """The answer for a missing package.

    Attributes:
        package: its name.
    """

    package: str

    def __bool__(self) -> bool:
        return compiling.is_compiling() or not _would_end(sys._getframe(1), self.package)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)


def _pair(package: str, answer: tuple[bool, Any]) -> Missing:
    pair = Missing(answer)
    pair.package = package
    return pair


class _Later:
    """A frame at a later place, with the attributes that `hotfix.asking` reads."""

    def __init__(self, frame: types.FrameType, at: int) -> None:
        self.f_code, self.f_globals, self.f_locals = frame.f_code, frame.f_globals, frame.f_locals
        self.f_back, self.f_lineno, self.f_lasti = frame.f_back, frame.f_lineno, at


def _would_end(frame: types.FrameType, package: str) -> bool:
    """Whether the true branch of a test imports a package that is not there, and nothing handles it."""
    at = _import_of(frame.f_code, frame.f_lasti, package.partition(".")[0])
    if at is None or not isinstance(builtins.__import__, types.BuiltinFunctionType):
        return False
    name = package.partition(".")[0]
    if name in sys.modules or find_spec(name) is not None:
        return False
    later: Any = _Later(frame, at)
    return not asking.is_handled(ModuleNotFoundError, later, of_module=True)


@lru_cache(maxsize=256)
def _is_for_a_test(code: types.CodeType, at: int) -> bool:
    """Whether code asks only to test the answer: in an ``if``, to return it, or for a name that ends in ``available``.

    Args:
        code: the code that calls the function.
        at: the place of the call.
    """
    steps = [step for step in dis.get_instructions(code) if step.offset > at and step.opname not in _EMPTY]
    if not steps:
        return False
    name = str(steps[0].argval)
    is_kept = steps[0].opname in ("STORE_NAME", "STORE_GLOBAL", "STORE_FAST") and name.endswith("available")
    return is_kept or steps[0].opname in ("RETURN_VALUE", *_TESTS)


@lru_cache(maxsize=256)
def _import_of(code: types.CodeType, at: int, package: str) -> Optional[int]:
    """The place where the true branch of a test imports a package, behind nothing but imports.

    Args:
        code: the code of the test.
        at: the place of the test.
        package: name of the package.
    """
    steps = [step for step in dis.get_instructions(code) if step.offset >= at and step.opname != "CACHE"]
    if steps and steps[0].opname == "TO_BOOL":  # Python 3.13
        del steps[0]
    if not steps or steps[0].opname not in _TESTS:
        return None
    level: Any = None
    for before, step in zip(steps, steps[1:]):
        if step.opname not in _IMPORTING:
            return None
        if step.opname == "IMPORT_NAME" and level == 0 and str(step.argval).partition(".")[0] == package:
            return step.offset
        if step.opname.startswith("LOAD_"):
            level = before.argval if before.opname.startswith("LOAD_") else None
    return None
