"""Checks that all ranks of a job run the same patch set, by comparing their digests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, Optional

from ..errors import HotfixError
from .tables import number_ranges

if TYPE_CHECKING:
    import torch.distributed

_WIDTH = 12  # bytes of a digest
_NO_DIGEST = "-" * _WIDTH  # sent by a rank without a digest; it must take part, or the others wait

# The device that a backend needs for its tensors; "cpu" for all others.
_DEVICES = {"nccl": "cuda", "xccl": "xpu", "hccl": "npu", "mccl": "musa"}


def agree(digest: Callable[[], str], group: Optional[torch.distributed.ProcessGroup]) -> str:
    """Compare a digest over the ranks of a group; see `hotfix.assert_uniform`.

    Args:
        digest: computes the digest of this rank. Its errors are raised after the comparison, since the others wait.
        group: the process group; the default one if None.
    """
    try:
        own, problem = digest(), None
    except Exception as error:
        own, problem = _NO_DIGEST, error
    digests = _gathered(own, group)
    if set(digests) == {own} and problem is None:
        return own
    raise HotfixError(_message(digests)) from problem


def _gathered(own: str, group: Optional[torch.distributed.ProcessGroup]) -> list[str]:
    """The digests of all ranks, in the order of the ranks."""
    import torch
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        if int(os.environ.get("WORLD_SIZE") or 1) > 1:
            raise HotfixError(
                "assert_uniform needs a process group: call it after torch.distributed.init_process_group"
            )
        return [own]
    if dist.get_rank(group) < 0:
        return [own]
    device = _DEVICES.get(dist.get_backend(group), "cpu")
    mine = torch.tensor(list(own.encode("ascii")), dtype=torch.uint8, device=device)
    everyones = [torch.empty_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(everyones, mine, group=group)
    return [bytes(tensor.tolist()).decode("ascii") for tensor in everyones]


def _message(digests: list[str]) -> str:
    """The same text on every rank."""
    ranks: dict[str, list[int]] = {}
    for rank, digest in enumerate(digests):
        ranks.setdefault(digest, []).append(rank)
    usual, *others = sorted(ranks, key=lambda digest: (digest == _NO_DIGEST, -len(ranks[digest]), ranks[digest]))
    if not others:
        return "no rank can compute the digest of its patch set"
    parts = [f"{_ranks(ranks[digest])} {_digest(digest, len(ranks[digest]))}" for digest in others]
    return (
        f"the ranks of this job do not run the same patch set: {'; '.join(parts)}; "
        f"{_ranks(ranks[usual])} {_digest(usual, len(ranks[usual]))}. "
        "Run with HOTFIX_RECORD=DIR and `hotfix fleet DIR` says what differs."
    )


def _ranks(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {number_ranges(ranks)}"


def _digest(digest: str, ranks: int) -> str:
    if digest == _NO_DIGEST:
        return "cannot compute a digest"
    has = "has" if ranks == 1 else "have"
    return f"{has} {digest}{' (nothing is repaired)' * (digest == _EMPTY)}"


_EMPTY = "e3b0c44298fc"  # the digest of no patches: the first digits of the SHA-256 of nothing
