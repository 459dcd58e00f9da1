"""The processes that `hotfix verify` starts: they run the cases of fixes and write down the results.

On Linux without a GPU, two hosts hold what all cases import: one has torch, for runs with hotfix, and one also has the
common part of transformers, for runs of the release as it is. A host forks a process for each order, and that forks one
for each target, so no case sees the changes of another. CUDA does not survive a fork: with a GPU, and on other systems,
each order is a fresh process.

An order is the file ``order.json`` in a folder; each result is a line in ``results.jsonl``, written at once. If a
process dies or hangs, only the result of its target is missing.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

COMMON = "transformers.trainer"
"""What nearly every case imports. From 4.49.0 on, its first import can replace the package in `sys.modules`, so a case
that changes the package must come after it."""
_PAUSE = 0.02  # seconds between two looks at a forked process


def main(folder: str) -> None:
    """Run the cases of one fix.

    Args:
        folder: has the order: the id of the fix, the targets, the seconds for each, and whether each has a process of
            its own.
    """
    from ... import proofs, session

    at = Path(folder)
    order = json.loads((at / "order.json").read_text(encoding="utf-8"))
    entry = session.current().catalogue.entry(order["fix"])
    case: Any = proofs.load(entry.module, entry.load())
    _import_common()
    if order["forks"]:
        _forked(lambda: _write(at, {"machine": machine()}), order["seconds"], at / "stderr")
    else:
        _write(at, {"machine": machine()})
    for module, qualname in order["targets"]:
        target = SimpleNamespace(module=module, qualname=qualname, key=f"{module}:{qualname}")
        if order["forks"]:
            error = _forked(partial(_run, case, target, at), order["seconds"], at / "stderr")
            if error:
                _write(at, _result(target, error=["ProcessDied", error]))
        else:
            _run(case, target, at)


def serve(with_common: bool) -> None:
    """Carry out orders until the input ends: a line of JSON for each, with its folder and settings.

    The answer is a line: an empty text, or why the process of the order ended early.

    Args:
        with_common: whether to import the common part of transformers before the first order.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the cases print
    import torch

    torch.set_num_threads(1)  # threads do not survive a fork
    with suppress(ImportError):  # the first optimizer imports it, which takes longer than most cases
        importlib.import_module("torch._dynamo")
    if with_common:
        _import_common()
    gc.freeze()  # a collection in a case looks at the case's objects only
    for line in sys.stdin:
        order = json.loads(line)
        error = _forked(partial(_carry_out, order), order["seconds"], Path(order["folder"]) / "stderr")
        answers.write(json.dumps(error) + "\n")
        answers.flush()


def _carry_out(order: dict[str, Any]) -> None:
    os.environ.update(order["settings"])
    if order["settings"].get("HOTFIX") != "0":
        importlib.import_module("hotfix.auto")
    main(order["folder"])


def _forked(work: Callable[[], None], seconds: float, output: Path) -> str:
    """Run a function in a forked process; returns why it did not come to its end, or an empty text.

    Args:
        work: the function.
        seconds: how long it may take.
        output: the file for its stderr.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setsid()
            os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
            work()
            status = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(status)
    end = time.monotonic() + seconds
    while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return f"took longer than {seconds:g} seconds"
        time.sleep(_PAUSE)
    status = os.waitstatus_to_exitcode(ended[1])
    return f"ended with {status}: {last_line(output)}" if status else ""


def last_line(output: Path) -> str:
    """The last line of a file of messages."""
    lines = output.read_text(encoding="utf-8", errors="replace").split("\n") if output.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "no output")


def _run(case: Any, target: Any, at: Path) -> None:
    """Run a case and write down its result."""
    import torch

    from ...proofs.testbed import Testbed, collect

    torch.manual_seed(0)
    result = _result(target)
    with Testbed() as testbed:
        try:
            tensors = collect(case(testbed, target))
        except Exception as _hotfix_error:  # the error is the result of the case
            result["error"] = [type(_hotfix_error).__name__, str(_hotfix_error)]
        else:
            result["tensors"] = str(at / f"{len(list(at.glob('*.pt')))}.pt")
            torch.save(tensors, result["tensors"])
    result["applied"] = _applied()
    _write(at, result)


def _result(target: Any, error: Any = None) -> dict[str, Any]:
    return {"target": target.key, "error": error, "tensors": None, "applied": []}


def _import_common() -> None:
    with suppress(Exception):  # the case itself shows what is wrong
        importlib.import_module(COMMON)


def _applied() -> list[str]:
    if "hotfix.auto" not in sys.modules or os.environ.get("HOTFIX") == "0":
        return []
    import hotfix

    return [outcome.target for outcome in hotfix.report() if outcome.state is hotfix.State.APPLIED]


def machine() -> dict[str, Any]:
    """The device of this node, and whether flash-attn runs on it."""
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
