"""``SequentialDistributedSampler`` and ``DistributedTensorGatherer`` are gone.

Symptom   ``ImportError: cannot import name 'SequentialDistributedSampler' from 'transformers.trainer_pt_utils'``, or
          from ``'transformers.trainer'``: axolotl up to 0.4, evaluation loops of one's own, and programs with a copy
          of the Trainer's imports.
Cause     The Trainer has not used them since it evaluates with Accelerate, and 5.0.0 removed them.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      The sampler, as in 4.57.6. Of ``DistributedTensorGatherer`` only the name: programs import it with the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hotfix.fix import Fix
from hotfix.patching.tabled import empty

_MODULE = "transformers.trainer_pt_utils"

FIX = Fix(
    title="ImportError: cannot import name 'SequentialDistributedSampler' from 'transformers.trainer_pt_utils'",
    kind="removed-api",
    group="removed-names",
)


@FIX.adds_made((f"{_MODULE}:SequentialDistributedSampler", ">=5.0.0"), exported_by=("transformers.trainer",))
def sampler(utils: Any) -> type:
    """The class."""
    from torch.utils.data import Sampler

    class SequentialDistributedSampler(Sampler):  # type: ignore[misc]  # torch is not there where types are read
        """Gives each process one stretch of a data set, all of one length: the first samples follow the last ones.

        Args:
            dataset: something with a length.
            num_replicas: the number of processes; that of ``torch.distributed`` if None.
            rank: the number of this process; likewise.
            batch_size: makes the length of a stretch a multiple of it.
        """

        def __init__(self, dataset: Any, num_replicas: Any = None, rank: Any = None, batch_size: Any = None) -> None:
            import torch.distributed

            self.dataset = dataset
            self.num_replicas = torch.distributed.get_world_size() if num_replicas is None else num_replicas
            self.rank = torch.distributed.get_rank() if rank is None else rank
            self.batch_size = batch_size
            at_once = batch_size or 1
            self.num_samples = -(-len(dataset) // (at_once * self.num_replicas)) * at_once
            self.total_size = self.num_samples * self.num_replicas

        def __iter__(self) -> Iterator[int]:
            first = self.rank * self.num_samples
            length = len(self.dataset)
            if self.total_size > 2 * length:
                raise AssertionError(f"{self.total_size} samples cannot be made of {length}")
            return iter([at % length for at in range(first, first + self.num_samples)])

        def __len__(self) -> int:
            return int(self.num_samples)

    SequentialDistributedSampler.__module__ = _MODULE
    SequentialDistributedSampler.__qualname__ = "SequentialDistributedSampler"
    return SequentialDistributedSampler


@FIX.adds_made((f"{_MODULE}:DistributedTensorGatherer", ">=5.0.0"), exported_by=("transformers.trainer",))
def gatherer(utils: Any) -> Any:
    """The name of a class that can be named and not used."""
    return empty("DistributedTensorGatherer", _MODULE, "4.57.6")
