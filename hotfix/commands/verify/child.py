"""The process that `hotfix verify` starts: runs the case of one fix, target by target, and writes down what came out.

``order.json`` in the folder that is named says what to run. Each result is a line in ``results.jsonl``, written at
once: a process that a device error kills has said what it could.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def main(folder: str) -> None:
    """Run the cases in ``order.json`` of `folder`."""
    from ... import proofs, session
    from ...proofs.testbed import Testbed, collect

    at = Path(folder)
    order = json.loads((at / "order.json").read_text(encoding="utf-8"))
    entry = session.current().catalogue.entry(order["fix"])
    case: Any = proofs.load(entry.module, entry.load())
    import torch

    _write(at, {"machine": _machine()})
    for module, qualname in order["targets"]:
        target = SimpleNamespace(module=module, qualname=qualname, key=f"{module}:{qualname}")
        result: dict[str, Any] = {"target": f"{module}:{qualname}", "error": None, "tensors": None}
        torch.manual_seed(0)
        with Testbed() as testbed:
            try:
                tensors = collect(case(testbed, target))
            except Exception as error:  # the error is the result of the case
                result["error"] = [type(error).__name__, str(error)]
            else:
                result["tensors"] = str(at / f"{len(list(at.glob('*.pt')))}.pt")
                torch.save(tensors, result["tensors"])
        result["applied"] = _applied()
        _write(at, result)


def _applied() -> list[str]:
    if "hotfix.auto" not in sys.modules or os.environ.get("HOTFIX") == "0":
        return []
    import hotfix

    return [outcome.target for outcome in hotfix.report() if outcome.state is hotfix.State.APPLIED]


def _machine() -> dict[str, Any]:
    import platform

    import torch

    on_gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if on_gpu else f"CPU ({platform.processor() or platform.machine()})"
    return {"device": device, "device_kind": "cuda" if on_gpu else "cpu", "flash_attention": _flash_runs(on_gpu)}


def _flash_runs(on_gpu: bool) -> bool:
    """Whether flash-attn runs on this node: it may be missing, built for another torch, or lack a GPU."""
    import torch

    try:
        from flash_attn import flash_attn_func

        q = torch.zeros(1, 2, 1, 16, dtype=torch.bfloat16, device="cuda" if on_gpu else "cpu")
        flash_attn_func(q, q, q)
    except Exception:  # a broken binary raises anything
        return False
    return True


def _write(folder: Path, entry: dict[str, Any]) -> None:
    with (folder / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
