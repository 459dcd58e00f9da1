"""The proof: a machine with a CPU alone is asked for the devices that bitsandbytes can use."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import torch

from hotfix.loading.bnb_devices_frozen import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: 'frozenset' object has no attribute 'discard'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The answer of the check, and the sentence of its error."""
    stand_in: Any = ModuleType("bitsandbytes")
    stand_in.supported_torch_devices = {"cuda"}
    module: Any = import_module(target.module)
    own, module.get_available_devices = module.get_available_devices, lambda: frozenset({"cpu"})
    before, sys.modules["bitsandbytes"] = sys.modules.get("bitsandbytes"), stand_in
    check = getattr(module, target.qualname)
    try:
        sentence = _refusal(check)
        return {"available": torch.tensor(check(raise_exception=False)), "error": words(sentence)}
    finally:
        module.get_available_devices = own
        del sys.modules["bitsandbytes"]
        if before is not None:
            sys.modules["bitsandbytes"] = before


def _refusal(check: Any) -> str:
    try:
        check(raise_exception=True)
    except RuntimeError as error:
        return str(error).partition(". ")[0]
    return ""
