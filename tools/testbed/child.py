"""Runs a case or a script: in a fork of a template (`serve.py`), or in a fresh interpreter that `run.py` starts."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import traceback
from collections.abc import Iterable
from functools import reduce
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

PACKAGES = ("transformers", "torch", "flash_attn", "xformers", "triton", "trl", "accelerate")


def main(folder: str) -> None:
    """Run the case that `order.json` in `folder` names, on each of its targets, in this process.

    Hotfix is already armed, if requested; `transformers` has not been imported.
    """
    at = Path(folder)
    order = json.loads((at / "order.json").read_text())
    for number in range(len(order["targets"])):
        run_on(order, number, at)


def run_script(path: str) -> None:
    """Run a script as ``__main__``; nothing runs at its exit."""
    sys.argv[:] = [path]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise


def run_on(order: dict[str, Any], number: int, at: Path) -> None:
    """Run the case on one target; write `NUMBER.json` and `NUMBER.pt`."""
    import torch

    from hotfix.proofs.testbed import Testbed

    result: dict[str, Any] = {"error": None, "flash_calls": {}, "report": None}
    tensors: dict[str, Any] = {}
    try:
        torch.manual_seed(0)
        target = order["targets"][number] and SimpleNamespace(**order["targets"][number])
        with Testbed() as testbed:
            result["flash_calls"] = testbed.flash_calls
            # The result has no fallback here, so a case that looks up a removed name does not count as handling its
            # absence.
            case = resolve(order["case"])
            as_a_script(case)
            _fill(tensors, case, testbed, target)
    except BaseException as error:
        result["error"] = [type(error).__name__, str(error), traceback.format_exc()]
    if order["hotfix"]:
        import hotfix

        result["report"] = hotfix.report().to_dict()
    result["versions"] = versions(PACKAGES)
    torch.save(tensors, at / f"{number}.pt")
    partial = at / f"{number}.partial"
    partial.write_text(json.dumps(result))
    os.replace(partial, at / f"{number}.json")


def as_a_script(case: Any) -> None:
    """Let the code of a proof count as the program's, like that of a script: a repair asks who raises, and who reads.

    Args:
        case: of one of our fixes, in a module of `hotfix.proofs`, where its code would count as a library's.
    """
    module = sys.modules.get(case.__module__)
    if module is not None and case.__module__.startswith("hotfix.proofs."):
        module.__name__ = "__main__"
        sys.modules["__main__"] = module


def _fill(tensors: dict[str, Any], case: Any, testbed: Any, target: Any) -> None:
    from hotfix.proofs.testbed import collect

    tensors.update(collect(case(testbed, target)))


def resolve(case: str) -> Any:
    """The object with the name ``module:qualname``."""
    module, _, qualname = case.partition(":")
    return reduce(getattr, qualname.split("."), importlib.import_module(module))


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of this Python and of the installed packages among these."""
    versions = {"python": sys.version.split()[0]}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
