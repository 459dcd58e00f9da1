"""The place of a process in its job, from the environment variables of launchers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Optional

# The rank, the rank on the host, and the number of processes of the job.
LAUNCHERS = {
    "torch": ("RANK", "LOCAL_RANK", "WORLD_SIZE"),  # torchrun, accelerate, deepspeed, Ray Train
    "slurm": ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"),
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),
    "pmi": ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),
}


def place(environment: Mapping[str, str]) -> dict[str, Optional[Any]]:
    """The place of a process in its job.

    Args:
        environment: its environment variables.

    Returns:
        ``launcher``, and as integers ``rank``, ``local_rank`` and ``world_size``; all None outside a job.
    """
    for launcher, variables in LAUNCHERS.items():
        numbers = [_number(environment.get(variable)) for variable in variables]
        if numbers[0] is not None:
            return {"launcher": launcher, "rank": numbers[0], "local_rank": numbers[1], "world_size": numbers[2]}
    return {"launcher": None, "rank": None, "local_rank": None, "world_size": None}


def rank() -> Optional[int]:
    """The rank of this process, or None outside a job."""
    number: Optional[int] = place(os.environ)["rank"]
    return number


def _number(text: Optional[str]) -> Optional[int]:
    return int(text) if text and text.isascii() and text.isdigit() else None
