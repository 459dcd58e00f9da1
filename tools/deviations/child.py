"""Runs in the testbed: a case with many deviations, each in a fork of the process that has imported the target."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

PLANT = "CASE_PLANT"  # ``module:function`` that does harm in the process, for the tests of the table
ORDER = "CASE_DEVIATIONS"  # the file that says what to run; the testbed passes such variables only to the case


def every(testbed: Any, target: Any) -> dict[str, Any]:
    """Run the programs that the order names, and write the results of each into its folder, as ``NUMBER.pt``.

    Returns:
        How many there were.
    """
    import torch

    order = json.loads(Path(os.environ[ORDER]).read_text())
    for module in ("tools.deviations.library", "transformers.trainer", target.module):
        try:
            import_module(module)
        except Exception as error:  # the program meets it as well, and it is a part of its result
            if module.startswith("tools."):
                raise
            print(f"{module}: {error!r}", file=sys.stderr)
    if plant := os.environ.get(PLANT):
        _resolved(plant)()
    for number, (name, case) in enumerate(order["programs"]):
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            try:
                signal.setitimer(signal.ITIMER_PROF, order["seconds"])  # of work; both signals end the process
                signal.alarm(5 * order["seconds"])  # of waiting
                _program(testbed, target, order, number, name, case)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
    return {"programs": torch.tensor(len(order["programs"]))}


def _program(testbed: Any, target: Any, order: dict[str, Any], number: int, name: str, case: str) -> None:
    import torch

    from tools.deviations.library import DEVIATIONS
    from tools.deviations.scene import NotHere, Scene
    from tools.deviations.surroundings import state
    from tools.deviations.values import ENDED, described, error_of

    folder = Path(order["folder"])
    with open(folder / f"{number}.err", "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    random.seed(0)
    began = time.process_time()
    result: dict[str, Any] = {"values": {}, "error": None, "absent": "", "touched": 0, "left alone": []}
    scene = Scene(testbed, target, _resolved(case), order["places"], order["keys"], order["exchange"])
    try:
        values = DEVIATIONS[name].function(scene)
        values = scene.run() if values is None else values
        if scene.ended:
            result["values"][ENDED] = scene.ended
        for key, value in values.items():
            result["values"].update({f"{key}.{path}" if path else key: part for path, part in _kept(value, described)})
    except NotHere as reason:
        result["absent"] = str(reason)
    except BaseException as error:
        result["error"] = list(error_of(error))
        if not isinstance(error, Exception):
            print(repr(error), file=sys.stderr)
    if not scene.touched and not result["absent"]:
        result["absent"] = "the case builds nothing that it could change"
    result["touched"] = scene.touched
    result["seconds"] = time.process_time() - began
    result["state"] = state()
    result["applied"] = _applied(order["fix"])
    sys.stdout.flush()
    sys.stderr.flush()
    torch.save(result, folder / f"{number}.partial")
    os.replace(folder / f"{number}.partial", folder / f"{number}.pt")


def _kept(value: Any, described: Callable[[Any], dict[str, Any]]) -> list[tuple[str, Any]]:
    return [("", value)] if isinstance(value, str) else list(described(value).items())


def _resolved(case: str) -> Any:
    from tools.testbed.child import resolve

    return resolve(case) if case else None


def _applied(fix: str) -> bool:
    if "hotfix.auto" not in sys.modules:
        return False
    import hotfix

    rows: Any = hotfix.report().to_dict()["outcomes"]
    return any(row["fix"] == fix and row["state"] == "applied" for row in rows)
