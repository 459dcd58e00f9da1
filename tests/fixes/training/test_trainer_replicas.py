"""trainer-dp-loss-mean-num-items: the real Trainer over torch's DataParallel, whose devices are parts of the CPU.

Two replicas must give what one batch gives, but for the order of float32 sums.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest

from hotfix.training.trainer_dp_loss_mean_num_items import FIX, share
from tests.fixes.training.trainer.replicas import KINDS
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.training.trainer.replicas"
BY_THE_NUMBER = "decoder"
MEANS = [kind for kind in KINDS if kind != BY_THE_NUMBER]
SLOW = pytest.mark.slow


@cache
def ran(release, case="every_kind", kinds=tuple(KINDS), hotfix=True, **env):
    return run(
        f"{CASES}:{case}",
        target=SimpleNamespace(module="", qualname=", ".join(kinds)),
        transformers=release,
        flash_attn=None,
        extras=["accelerate==1.15.0"],
        hotfix=hotfix,
        env=env,
    )


def ratio_of_losses(result, kind):
    tensors = result.require().tensors
    return float(tensors[f"{kind}, replicas loss"] / tensors[f"{kind}, one batch loss"])


def assert_equal_both_ways(result, kind):
    tensors = result.require().tensors
    names = [name for name in tensors if name.startswith(f"{kind}, replicas ")]
    assert len(names) > 8
    for name in names:
        replicated, other = tensors[name], tensors[name.replace(", replicas ", ", one batch ")]
        # A bias of keys has no gradient but rounding.
        largest = max(other.abs().max().item(), 1e-2)
        assert (replicated - other).abs().max().item() <= 1e-5 * largest, name


@pytest.mark.parametrize(
    "release",
    ["4.46.1", "4.46.2", pytest.param("4.49.0", marks=SLOW), pytest.param("4.50.3", marks=SLOW), "4.56.2"],
)
def test_two_replicas_equal_one_batch(release):
    result = ran(release)
    for kind in KINDS:
        assert_equal_both_ways(result, kind)
    [row] = [row for row in result.report["outcomes"] if row["fix"] == FIX.id]
    assert (row["verdict"], row["state"]) == ("broken", "applied")


@pytest.mark.parametrize(
    ("release", "least", "most"),
    [
        ("4.46.1", 0.499, 0.501),
        pytest.param("4.49.0", 0.499, 0.501, marks=SLOW),
        # The losses of two texts, divided by the labels of four.
        ("4.56.2", 0.1, 0.9),
    ],
)
def test_without_it_the_loss_is_too_small(release, least, most):
    assert least < ratio_of_losses(ran(release, kinds=(BY_THE_NUMBER,), hotfix=False), BY_THE_NUMBER) < most


@pytest.mark.parametrize("release", ["4.46.2", pytest.param("4.50.3", marks=SLOW)])
def test_without_it_a_tensor_without_an_axis_cannot_be_cut(release):
    error = ran(release, kinds=(BY_THE_NUMBER,), hotfix=False).error
    assert error[:2] == ("RuntimeError", "chunk expects at least a 1-dimensional tensor")


def test_means_stay_as_they_are():
    stock = ran("4.49.0", kinds=tuple(MEANS), hotfix=False).require().tensors
    alone = ran("4.49.0", kinds=tuple(MEANS), HOTFIX_ONLY=FIX.id).require().tensors
    assert stock.keys() == alone.keys()
    assert [name for name in stock if not stock[name].equal(alone[name])] == []


def test_after_it_is_bitwise_the_fixed_release():
    before, other = (ran(release, kinds=(BY_THE_NUMBER,)).require().tensors for release in ("4.56.2", "4.57.1"))
    assert before.keys() == other.keys()
    assert [name for name in before if not before[name].equal(other[name])] == []


def test_a_last_batch_with_rows_for_one_of_two_replicas():
    assert_equal_both_ways(ran("4.56.2", "last_batch"), "last")


@pytest.mark.parametrize("release", ["4.47.0", pytest.param("4.48.0", marks=SLOW), pytest.param("4.55.4", marks=SLOW)])
def test_replicas_under_gradient_accumulation(release):
    """In 4.47.0 and 4.48.0 together with trainer-ga-num-items-dropped, which has the number handed on."""
    result = ran(release, "accumulated", ("decoder", "encoder"))
    for kind in ("decoder", "encoder"):
        assert_equal_both_ways(result, kind)


@pytest.mark.parametrize(
    ("rows", "devices", "replicas"), [(4, 2, 2), (3, 2, 2), (1, 2, 1), (8, 3, 3), (5, 4, 3), (2, 8, 2)]
)
def test_a_share_for_each_replica_that_gets_rows(rows, devices, replicas):
    model, inputs = parallel(devices), {"input_ids": torch.zeros(rows, 7), "use_cache": False}
    assert share(model, inputs, 30) == 30 / replicas
    for number in (torch.tensor(30), torch.tensor([30])):
        shares = share(model, inputs, number)
        assert shares.tolist() == [30 / replicas] * replicas
        assert len(shares.chunk(devices)) == len(inputs["input_ids"].chunk(devices)) == replicas


def test_a_number_that_is_nobodys_share_goes_on_as_it_is():
    inputs, number = {"input_ids": torch.zeros(4, 7)}, torch.tensor(30)
    assert share(torch.nn.Identity(), inputs, number) is number
    assert share(parallel(1), inputs, number) is number
    prepared = torch.tensor([15, 15])
    assert share(parallel(2), inputs, prepared) is prepared


def parallel(devices):
    model = torch.nn.DataParallel(torch.nn.Identity())
    model.device_ids = list(range(devices))
    return model
