"""What this process writes down for the others: its record, one JSON file in the folder that ``HOTFIX_RECORD`` names.

Written when a watched package is imported, at each change after that, in every forked child, and at exit. A record is
written under another name and renamed when complete, so a reader finds a whole record or the one before it, whenever
the writer is killed. What cannot be written (a full disk, a read-only folder) is said once and otherwise ignored.

`hotfix.fleet` reads the records of a job.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import socket
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

from . import __version__, ledger, watch

if TYPE_CHECKING:
    from .reporting import Report

FORMAT = 1

# How launchers tell a process its rank, its rank on the host, and the number of processes of the job.
LAUNCHERS = {
    "torch": ("RANK", "LOCAL_RANK", "WORLD_SIZE"),  # torchrun, accelerate, deepspeed, Ray Train
    "slurm": ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    "pmi": ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
}

_content: dict[str, Any] = {}
_folder = ""
_name = ""
_lock = threading.Lock()


def update(folder: str, report: Report) -> None:
    """Write the record of this process, or write it anew.

    Args:
        folder: where to; it is made if it does not exist.
        report: the state of this process.
    """
    global _folder
    with _lock:
        if not _folder:
            _folder = os.path.abspath(folder)  # the program may change its working directory
            _begin()
            atexit.register(_at_exit)
            os.register_at_fork(after_in_child=_after_fork)
        happened = {(one.fix, one.target): one for one in ledger.outcomes().values()}
        _content.update(
            packages=dict(report.packages),
            digest=report.digest,
            patches=list(report.patches),
            outcomes=[one.to_dict() for one in happened.values()],
        )
        _write()


def place(environment: Mapping[str, str]) -> dict[str, Optional[Any]]:
    """Where in its job a process is.

    Args:
        environment: its environment variables.

    Returns:
        ``launcher``, and as integers ``rank``, ``local_rank`` and ``world_size``; all None outside of a job.
    """
    for launcher, variables in LAUNCHERS.items():
        numbers = [_number(environment.get(variable)) for variable in variables]
        if numbers[0] is not None:
            return {"launcher": launcher, "rank": numbers[0], "local_rank": numbers[1], "world_size": numbers[2]}
    return {"launcher": None, "rank": None, "local_rank": None, "world_size": None}


# ---------------------------------------------------------------------------------------------------------------------
# Below: the file.


def _begin() -> None:
    """A new process, a new file: process numbers come again, and hosts of containers share names."""
    global _name
    host = socket.gethostname()
    _name = f"{host}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    _content.update(
        format=FORMAT,
        hotfix=__version__,
        host=host,
        pid=os.getpid(),
        parent=os.getppid(),
        argv=list(getattr(sys, "orig_argv", None) or getattr(sys, "argv", [])),
        python=platform.python_version(),
        switches=dict(watch.environment()),
        started=round(time.time(), 3),
        ended=False,
    )


def _write() -> None:
    _content.update(place(os.environ))  # Ray Train tells the rank after the start of the process
    _content["written"] = round(time.time(), 3)
    final = os.path.join(_folder, f"{_name}.json")
    partial = os.path.join(_folder, f".{_name}.partial")
    try:
        os.makedirs(_folder, exist_ok=True)
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(_content, file)
        os.replace(partial, final)
    except OSError as error:
        ledger.warn_once(f"HOTFIX_RECORD={_folder}: the record of this process cannot be written ({error})")


def _at_exit() -> None:
    with _lock:
        _content["ended"] = True
        _write()


def _after_fork() -> None:
    """The child has the parent's modules and repairs, and is a process of its own. Nothing of the ledger is asked.

    Another thread of the parent may have held any lock at the moment of the fork.
    """
    global _lock
    _lock = threading.Lock()
    _begin()
    _write()


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text and text.isascii() and text.isdigit() else None
