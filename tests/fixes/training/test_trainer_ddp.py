"""trainer-ddp-no-sync-inverted on real releases: two ranks of the real Trainer over gloo, on the CPU."""

from __future__ import annotations

from functools import cache

import pytest

from hotfix.training.trainer_ddp_no_sync_inverted import FIX
from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

TARGET = str(FIX.targets[0])


@cache
def ran(case, release, hotfix=True):
    return run(case, transformers=release, flash_attn=None, extras=["accelerate==1.1.1"], hotfix=hotfix).require()


def differing(tensors, first, other, tolerance=0.0):
    """Names of the gradients that differ between those named after `first` and those named after `other`."""
    names = [name[len(first) :] for name in tensors if name.startswith(f"{first}gradient")]
    assert len(names) > 20
    # A bias of keys has no gradient but rounding.
    largest = {name: max(tensors[other + name].abs().max().item(), 1e-2) for name in names}
    gap = {name: (tensors[first + name] - tensors[other + name]).abs().max().item() for name in names}
    return [name for name in names if gap[name] > tolerance * largest[name]]


@pytest.mark.parametrize("micro_batches", [1, 2])
def test_ranks_have_the_same_gradients_with_the_fix_only(micro_batches):
    case = "hotfix.proofs.training.trainer_ddp_no_sync_inverted:case"
    ranks = [f"{micro_batches}, rank {rank}: " for rank in (0, 1)]
    assert differing(ran(case, "4.46.2", hotfix=False).tensors, *ranks)
    assert not differing(ran(case, "4.46.2").tensors, *ranks)


@pytest.mark.parametrize("kind", ["decoder", "encoder"])
@pytest.mark.parametrize("release", ["4.46.2", "4.46.3"])
def test_two_ranks_with_two_micro_batches_each_equal_one_batch(release, kind):
    """With the encoder this needs trainer-ga-multiplied-loss too: both are in place."""
    result = ran("tests.fixes.training.trainer.cases:ranks_and_one_process", release)
    for rank in (0, 1):
        assert not differing(result.tensors, f"{kind}, rank {rank}: ", f"{kind}, whole batch: ", tolerance=1e-5)
    expected = ("broken", "applied") if release == "4.46.2" else ("fixed", "skipped")
    [row] = [row for row in result.report["outcomes"] if (row["fix"], row["target"]) == (FIX.id, TARGET)]
    assert (row["verdict"], row["state"]) == expected


def test_after_it_is_bitwise_the_fixed_release():
    case = "hotfix.proofs.training.trainer_ddp_no_sync_inverted:case"
    before, other = ran(case, "4.46.2").tensors, ran(case, "4.46.3").tensors
    assert before.keys() == other.keys()
    assert [name for name in before if not before[name].equal(other[name])] == []
