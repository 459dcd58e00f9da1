"""Cases of `test_checklist.py` on the testbed: all that programs do with a function, for the functions of any fix.

`CASE_CHECKLIST` in the environment names the module of the fix. Nothing here knows a fix: a new one gets all of it.
"""

from __future__ import annotations

import inspect
import linecache
import multiprocessing
import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

import hotfix
from hotfix import session
from hotfix.fix import Fix
from hotfix.patching.journal import _Recoding, _Wrapping
from hotfix.proofs import load as load_proof
from hotfix.proofs.testbed import Testbed
from tools.probes import untouched
from tools.testbed import xformers_cpu

_models = multiprocessing.Value("i")  # treated so far; some cases build theirs in forks


def ordinary(testbed: Any, target: Any) -> dict[str, Any]:
    """Repair, look at what was repaired, and take it out again; each entry must be true."""
    import torch

    _ran(Testbed, target)
    mine = _fix().id
    operations = [
        operation
        for operation in session.current().journal._operations
        if mine in {step.fix.id for step in operation.steps}
    ]
    repaired_functions = dict(_repaired(operations))
    facts = {
        "something was repaired": bool(operations),
        "tracebacks show lines that exist": all(
            _has_its_lines(function.__code__) for function in repaired_functions.values()
        ),
    }
    pickled = {place: _is_pickled(function) for place, function in repaired_functions.items()}
    repaired = {place: _looks(function) for place, function in repaired_functions.items()}
    hotfix.revert()
    # Of a class method or a property the function alone never was.
    facts["pickle"] = pickled == {place: _is_pickled(function) for place, function in _repaired(operations)}
    facts["names, signature and docstring are upstream's"] = repaired == {
        place: _looks(function) for place, function in _repaired(operations)
    }
    left = {name: int(count) for name, count in untouched(testbed, target).items()}
    if target.module.startswith("hotfix."):
        left.pop("ours")  # a module of ours in place of one outside of transformers
    facts["revert leaves nothing"] = left.pop("functions") > 0 and not any(left.values())
    facts["nothing watches any more"] = not [
        finder for finder in sys.meta_path if type(finder).__module__.startswith("hotfix")
    ]
    return {name: torch.tensor(value) for name, value in facts.items()}


def _is_pickled(function: Any) -> bool:
    standing = _standing(function)
    try:
        return bool(pickle.loads(pickle.dumps(standing)) is standing)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False


def plain(testbed: Any, target: Any) -> dict[str, Any]:
    """The case as it is."""
    return _ran(Testbed, target)


def compiled(testbed: Any, target: Any) -> dict[str, Any]:
    """The case with every model compiled, and how many those are."""
    return {**_ran(_Compiling, target), "models": _count()}


def training(testbed: Any, target: Any) -> dict[str, Any]:
    """The case in training."""
    return _ran(_Training, target)


def checkpointed(testbed: Any, target: Any) -> dict[str, Any]:
    """The case in training, with gradient checkpointing in every model that has it, and how many those are."""
    return {**_ran(_Checkpointing, target), "models": _count()}


class _Compiling(Testbed):
    """Compiles what it fills; the graphs are run as they are, so that results stay equal to the bit."""

    def fill(self, module: Any, seed: int = 0, scale: float = 1.0) -> Any:
        import torch

        rotary: Any = sys.modules.get("flash_attn.layers.rotary")
        if rotary is not None:  # it selects a CUDA device, which cannot be traced on the CPU
            rotary.apply_rotary = torch.compiler.disable(rotary.apply_rotary)
        super().fill(module, seed, scale).compile(backend="eager")
        _models.value += 1
        return module


class _Training(Testbed):
    """Leaves its models in training mode."""

    def model(self, *args: Any, **kwargs: Any) -> Any:
        return super().model(*args, **kwargs).train()


class _Checkpointing(_Training):
    """Has its models checkpoint their layers."""

    def fill(self, module: Any, seed: int = 0, scale: float = 1.0) -> Any:
        super().fill(module, seed, scale)
        if getattr(module, "supports_gradient_checkpointing", False):
            module.gradient_checkpointing_enable({"use_reentrant": False})
            _models.value += 1
        return module


def _count() -> Any:
    import torch

    return torch.tensor(_models.value)


def _fix() -> Fix:
    fix: Fix = import_module(os.environ["CASE_CHECKLIST"]).FIX
    return fix


def _ran(kind: type[Testbed], target: Any) -> dict[str, Any]:
    import torch

    torch.manual_seed(0)  # of dropout
    with xformers_cpu.registered() if find_spec("xformers") else nullcontext(), kind() as testbed:
        proof = load_proof(os.environ["CASE_CHECKLIST"], _fix())
        assert proof is not None
        results = proof(testbed, target)
        return {name: value.detach().clone() for name, value in results.items()}


def _repaired(operations: list[Any]) -> Iterator[tuple[str, Any]]:
    """Each place where something was repaired, and the current function there."""
    for operation in operations:
        if isinstance(operation, _Recoding):
            yield operation.function.__qualname__, operation.function
        elif isinstance(operation, _Wrapping) and operation.is_defined_here():
            site = operation.site
            member = getattr(site.owner, site.name)
            yield f"{site.owner.__name__}.{site.name}", member.fget if isinstance(member, property) else member


def _standing(function: Any) -> Any:
    """The object under the name of a function: the function, or upstream's decorator around it."""
    return reduce(getattr, function.__qualname__.split("."), sys.modules[function.__module__])


def _looks(function: Any) -> tuple[Any, ...]:
    # The docstring that a program sees: another repair may be a wrapper, on which a decorator has set it.
    names = function.__module__, function.__name__, function.__qualname__, _standing(function).__doc__
    return (*names, inspect.signature(function))  # which has the defaults


def _has_its_lines(code: CodeType) -> bool:
    """Whether every line that a traceback could name is in a file, and not an empty one."""
    lines = {line for _, _, line in code.co_lines() if line}
    here = Path(code.co_filename).is_file() and all(linecache.getline(code.co_filename, line).strip() for line in lines)
    return here and all(_has_its_lines(inner) for inner in code.co_consts if isinstance(inner, CodeType))
