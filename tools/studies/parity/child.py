"""The process that runs one case. Started by `runner.py`, after `import hotfix.auto` or without it."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tools.testbed.child import resolve, versions

PACKAGES = ("transformers", "torch", "triton", "flash_attn", "xformers", "tokenizers", "huggingface_hub", "numpy")


def main(folder: str) -> None:
    """Run the case that `order.json` in `folder` names; write `result.json` and `tensors.pt`."""
    at = Path(folder)
    order = json.loads((at / "order.json").read_text())
    began = time.monotonic()
    import torch

    from hotfix.proofs.testbed import Testbed, collect

    torch.manual_seed(0)
    torch.backends.cudnn.allow_tf32 = False  # float32 is the reference
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    device = order["device"]
    result: dict[str, Any] = {"error": None, "report": None}
    operators: dict[str, int] = {}
    tensors: dict[str, Any] = {}
    calls: dict[str, int] = {}
    try:
        with _operators(order, operators), Testbed(device) as testbed:
            calls = testbed.flash_calls
            given = SimpleNamespace(**order["given"]) if order["given"] else None
            tensors = collect(resolve(order["case"])(testbed, given))
    except BaseException as error:
        result["error"] = [type(error).__name__, str(error), traceback.format_exc()]
    if order["hotfix"]:
        import hotfix

        result["report"] = hotfix.report().to_dict()
    result["kernels"] = kernels(device, calls, operators)
    result["versions"] = versions(PACKAGES)
    result["peak_bytes"] = torch.cuda.max_memory_allocated() if device == "cuda" else None
    result["seconds"] = round(time.monotonic() - began, 2)
    torch.save(tensors, at / "tensors.pt")
    partial = at / "result.partial"
    partial.write_text(json.dumps(result))
    os.replace(partial, at / "result.json")


def kernels(device: str, flash_calls: dict[str, int], operators: dict[str, int]) -> dict[str, str]:
    """The kernel that computed, in words, by the name of the function that was called.

    Args:
        device: "cpu" or "cuda".
        flash_calls: how often flash-attn's kernels have run, as `hotfix.proofs.testbed.Testbed` counts them.
        operators: how often xformers' operators have run.
    """
    compiled = str(getattr(sys.modules.get("flash_attn_2_cuda"), "__file__", "")).endswith((".so", ".pyd"))
    built = os.environ.get("PARITY_KERNELS_VERSION", version("flash_attn")) if compiled else ""
    attention = f"flash-attn {built} CUDA extension" if compiled else f"reference attention on {device} tensors"
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    rotary = "flash-attn's Triton kernel, " + ("interpreted" if interpreted else f"compiled for {device}")
    ran = {
        name: f"{rotary if name.startswith('apply_rotary') else attention}, {count} x"
        for name, count in flash_calls.items()
        if count
    }
    owner = "xformers'" if device == "cuda" else "the CPU testbed's"
    return {**ran, **{f"xformers {name}": f"{owner} operator {name}, {count} x" for name, count in operators.items()}}


# ---------------------------------------------------------------------------------------------------------------------


def _operators(order: dict[str, Any], counts: dict[str, int]) -> AbstractContextManager[Any]:
    """Count the operators of xformers that run; where there is no GPU, give it one that does."""
    if not order["xformers"]:
        return nullcontext()
    fmha = import_module("xformers.ops.fmha")
    registered: AbstractContextManager[Any] = nullcontext()
    if order["device"] == "cpu":
        from tools.testbed import xformers_cpu

        registered = xformers_cpu.registered()

    class Counted(AbstractContextManager[None]):
        def __enter__(self) -> None:
            registered.__enter__()
            for operator in {*fmha.ALL_FW_OPS, *fmha.ALL_BW_OPS, fmha.ck.FwOp, fmha.ck.BwOp}:
                operator.apply = _counting(operator, counts)

        def __exit__(self, *error: Any) -> None:
            registered.__exit__(*error)

    return Counted()


def _counting(operator: Any, counts: dict[str, int]) -> Any:
    original = operator.apply

    def apply(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        counts[operator.NAME] = counts.get(operator.NAME, 0) + 1
        return result

    return apply
