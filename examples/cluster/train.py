"""A job in miniature: every rank proves that it runs the same patch set, before the first step.

A real script trains in place of the last lines. It needs no GPU: the ranks meet over gloo.
"""

from __future__ import annotations

import torch.distributed
import transformers.trainer_utils  # noqa: F401  # transformers is imported, so that there is something to repair

import hotfix


def main() -> None:
    """Meet the other ranks, compare, train."""
    torch.distributed.init_process_group("gloo")
    digest = hotfix.assert_uniform()  # raises on every rank, with the same words, unless all agree
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    print(f"rank {rank} of {size}: patch set {digest}", flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
