"""Gradient accumulation in the real Trainer: four micro-batches of one sample must give what one batch of four gives.

Equal means equal but for the order of float32 sums: 1e-5 of the largest number in a tensor.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest

from hotfix.training.trainer_ga_multiplied_loss import FIX as MULTIPLIED
from hotfix.training.trainer_ga_num_items_dropped import FIX as DROPPED
from tests.fixes.training.trainer.cases import DECODERS, KINDS
from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.training.trainer.cases"
TARGET = "transformers.trainer:Trainer.training_step"
BOTH = (MULTIPLIED.id, DROPPED.id)
# The broken releases, and the fix that repairs training_step there.
REPAIRED = {
    "4.46.1": BOTH[:1],
    "4.46.2": BOTH[:1],
    "4.46.3": BOTH[:1],
    "4.47.0": BOTH,
    "4.47.1": BOTH[:1],
    "4.48.0": BOTH[1:],
}
ENDS = [
    pytest.param(release, marks=pytest.mark.slow if release in ("4.46.2", "4.46.3", "4.47.1") else ())
    for release in REPAIRED
]


@cache
def ran(release, hotfix=True, kinds=KINDS, accelerate="1.1.1", **env):
    return run(
        f"{CASES}:every_kind",
        target=SimpleNamespace(module="", qualname=", ".join(kinds)),
        transformers=release,
        flash_attn=None,
        extras=[f"accelerate=={accelerate}"],
        hotfix=hotfix,
        env={"HOTFIX_LOG": "info", **env},
    ).require()


def factors(result, kind):
    """Gradient and reported loss of the micro-batches, as multiples of those of the whole batch."""
    values = {name.partition(": ")[2]: value for name, value in result.tensors.items() if name.startswith(f"{kind}: ")}
    loss = values["accumulated loss"] / values["whole batch loss"]
    accumulated, other = (
        sum(value.double().square().sum() for name, value in values.items() if name.startswith(f"{way} gradient"))
        ** 0.5
        for way in ("accumulated", "whole batch")
    )
    return float(accumulated / other), float(loss)


def named(result, kind):
    return SimpleNamespace(tensors={f"{kind}: {name}": value for name, value in result.tensors.items()})


def assert_equal_both_ways(result, kind):
    names = [name for name in result.tensors if name.startswith(f"{kind}: accumulated ")]
    assert len(names) > 20
    for name in names:
        accumulated, other = result.tensors[name], result.tensors[name.replace(": accumulated ", ": whole batch ")]
        # A bias of keys has no gradient but rounding.
        largest = max(other.abs().max().item(), 1e-2)
        assert (accumulated - other).abs().max().item() <= 1e-5 * largest, name


def kinds_of(release):
    # 4.46.1 counts labels[..., 1:], of labels without a second axis too: its number is no number of labels then.
    return [kind for kind in KINDS if (release, kind) != ("4.46.1", KINDS[3])]


@pytest.mark.parametrize(
    ("release", "encoder", "decoder"),
    [
        ("4.46.1", (4, 4), (1, 1)),
        pytest.param("4.46.2", (4, 1), (1, 1), marks=pytest.mark.slow),
        ("4.47.0", (4, 1), None),
        pytest.param("4.47.1", (4, 4), (1, 1), marks=pytest.mark.slow),
        ("4.48.0", (1, 1), None),
    ],
)
def test_before_the_numbers_are_multiples_of_the_right_ones(release, encoder, decoder):
    result = ran(release, hotfix=False)
    assert factors(result, "encoder") == pytest.approx(encoder, rel=1e-5)
    for kind in DECODERS:
        if decoder:
            assert factors(result, kind) == pytest.approx(decoder, rel=1e-5)
        else:  # the texts are of different length: no simple multiple
            assert min(factors(result, kind)) > 3


@pytest.mark.parametrize("release", ENDS)
def test_after_it_micro_batches_equal_one_batch(release):
    result = ran(release)
    for kind in kinds_of(release):
        assert_equal_both_ways(result, kind)


@pytest.mark.parametrize("release", ENDS)
def test_each_repair_names_its_target(release):
    result = ran(release)
    rows = [row for row in result.report["outcomes"] if row["target"] == TARGET and row["fix"] in BOTH]
    done = {row["fix"]: (row["verdict"], row["state"]) for row in rows}
    assert done == {fix: ("broken", "applied") if fix in REPAIRED[release] else ("fixed", "skipped") for fix in BOTH}
    assert [result.stderr.count(f"{fix}: applied to {TARGET}") for fix in BOTH] == [
        int(fix in REPAIRED[release]) for fix in BOTH
    ]
    assert "; results change" in result.stderr


@pytest.mark.parametrize("accelerate", ["0.26.0", "1.15.0"])
def test_after_with_an_accelerate_of_another_day(accelerate):
    result = ran("4.47.0", accelerate=accelerate)
    for kind in KINDS:
        assert_equal_both_ways(result, kind)


def test_a_loss_that_accelerate_divides_for_the_launcher_is_unchanged():
    environment = {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "4"}
    stock, repaired = (ran("4.47.0", hotfix=hotfix, kinds=KINDS[:2], **environment).tensors for hotfix in (False, True))
    right = ran("4.47.0").tensors
    for kind in KINDS[:2]:
        names = [name for name in stock if name.startswith(f"{kind}: accumulated gradient")]
        assert len(names) > 20
        assert [name for name in names if not repaired[name].equal(stock[name])] == []
    names = [name for name in stock if name.startswith("encoder: accumulated gradient")]
    assert [name for name in names if not stock[name].equal(right[name])] == []


@pytest.mark.parametrize(("release", "divides"), [("4.46.1", True), ("4.47.0", False), ("4.47.1", True)])
def test_a_loss_that_deepspeed_divides_is_not_divided_before(release, divides):
    result = run(
        f"{CASES}:under_an_engine", transformers=release, flash_attn=None, extras=["accelerate==1.1.1"]
    ).require()
    assert (result.tensors["given"].item(), result.tensors["reported"].item()) == (8, 2)
    assert bool(result.tensors["told"]) is divides


def test_a_model_that_would_refuse_the_number_trains_on_as_it_did():
    stock, repaired = (
        run(
            f"{CASES}:composed", transformers="4.48.0", flash_attn=None, extras=["accelerate==1.1.1"], hotfix=hotfix
        ).require()
        for hotfix in (False, True)
    )
    assert len(stock.tensors) > 50
    assert [name for name in stock.tensors if not repaired.tensors[name].equal(stock.tensors[name])] == []


@pytest.mark.parametrize("release", ["4.47.0", "4.48.0"])
def test_an_override_that_does_not_take_the_number_is_not_given_it(release):
    """It ran before, with gradients that were too large: it must not die, and its mean is divided."""
    stock, repaired = (
        run(
            f"{CASES}:with_an_old_override",
            transformers=release,
            flash_attn=None,
            extras=["accelerate==1.1.1"],
            hotfix=hotfix,
        ).require()
        for hotfix in (False, True)
    )
    assert factors(named(stock, "old"), "old") == pytest.approx((4, 4), rel=1e-3)
    assert_equal_both_ways(named(repaired, "old"), "old")


@pytest.mark.parametrize("release", ["4.45.2", "4.48.1"])
def test_a_release_that_needs_nothing_is_left_exactly_as_it_is(release):
    result = run(
        "tools.probes:untouched", target=MULTIPLIED.targets[0], transformers=release, flash_attn=None,
        extras=["accelerate==1.1.1"], env={"HOTFIX_ONLY": ",".join(BOTH)},
    ).require()  # fmt: skip
    counts = {name: int(value) for name, value in result.tensors.items()}
    assert counts.pop("functions") > 50
    assert counts == {"changed": 0, "ours": 0, "operations": 0}
    assert result.report is not None
    rows = [row for row in result.report["outcomes"] if row["target"] == TARGET and row["fix"] in BOTH]
    assert {row["fix"]: (row["verdict"], row["state"]) for row in rows} == dict.fromkeys(BOTH, ("fixed", "skipped"))


def test_two_fixes_on_one_function_are_taken_out_apart():
    result = run(
        f"{CASES}:applied_and_reverted", transformers="4.47.0", flash_attn=None, extras=["accelerate==1.1.1"],
        hotfix=False,
    ).require()  # fmt: skip
    names = (
        "each changes it",
        "the other stays",
        "nothing stays",
        "it is the same function",
        "it stands where it stood",
        "it takes what it took",
    )
    assert {name: bool(value) for name, value in result.tensors.items()} == dict.fromkeys(names, True)
