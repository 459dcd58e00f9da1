"""The process that runs one case. Started by `run.py`, after `import hotfix.auto` or without it."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from functools import reduce
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

PACKAGES = ("transformers", "torch", "flash_attn", "xformers", "triton", "trl", "accelerate")


def main(folder: str) -> None:
    """Run the case that `order.json` in `folder` names; write `result.json` and `tensors.pt`.

    Hotfix is armed already, if it is to be; `transformers` has not been imported.
    """
    at = Path(folder)
    order = json.loads((at / "order.json").read_text())
    result: dict[str, Any] = {"error": None, "flash_calls": {}, "report": None}
    tensors: dict[str, Any] = {}
    try:
        import torch

        from hotfix.bed import Bed, collect

        torch.manual_seed(0)
        target = SimpleNamespace(**order["target"]) if order["target"] else None
        with Bed() as bed:
            result["flash_calls"] = bed.flash_calls
            tensors = collect(_resolve(order["case"])(bed, target))
    except BaseException as error:
        result["error"] = [type(error).__name__, str(error), traceback.format_exc()]
    if order["hotfix"]:
        import hotfix

        result["report"] = hotfix.report().to_dict()
    result["versions"] = {"python": sys.version.split()[0], **_versions()}
    import torch

    torch.save(tensors, at / "tensors.pt")
    partial = at / "result.partial"
    partial.write_text(json.dumps(result))
    os.replace(partial, at / "result.json")


def _resolve(case: str) -> Any:
    module, _, qualname = case.partition(":")
    return reduce(getattr, qualname.split("."), importlib.import_module(module))


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
