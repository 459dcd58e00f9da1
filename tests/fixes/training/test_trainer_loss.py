"""The Trainer's scaling of a micro-batch's loss, on real releases: wrong before, right after.

Equal means equal but for the order of float32 sums, as in test_trainer_accumulation.
"""

from __future__ import annotations

import pytest

from hotfix.training.deepspeed_double_gas_scaling import FIX as SCALED
from hotfix.training.ga_loss_kwargs_swallowed_seq2seq_v5 import FIX as SEQ2SEQ
from hotfix.training.ga_loss_kwargs_swallowed_vlm import FIX as SWALLOWED
from hotfix.training.v5_trainer_ga_double_division import FIX as DOUBLE
from tests.fixes.training.test_trainer_accumulation import CASES, assert_equal_both_ways, factors
from tests.fixes.training.trainer.cases import DECODERS
from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed


def testbed(case, release, accelerate, *others, **options):
    extras = [f"accelerate=={accelerate}", *others]
    return run(case, transformers=release, flash_attn=None, extras=extras, **options).require()


def outcomes(result, fix):
    return {row["target"]: (row["verdict"], row["state"]) for row in result.report["outcomes"] if row["fix"] == fix.id}


# -- v5-trainer-ga-double-division -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "accelerate"), [("5.2.0", "1.15.0"), pytest.param("5.5.3", "1.3.0", marks=pytest.mark.slow)]
)
def test_the_loss_is_divided_once(release, accelerate):
    result = testbed(f"{CASES}:divided_once", release, accelerate, hotfix=False)
    for kind in (*DECODERS, "number in a dictionary"):
        gradient, loss = factors(result, f"before, {kind}")
        assert gradient == pytest.approx(0.25, rel=1e-5)
        assert loss == pytest.approx(1, rel=1e-5)
        assert_equal_both_ways(result, f"after, {kind}")
        for name, value in result.tensors.items():
            if name.startswith(f"after, {kind}: whole batch"):
                assert value.equal(result.tensors[name.replace("after", "before", 1)]), name
    # BERT takes the number of labels and ignores it: Accelerate is the only one who divides, and goes on doing so.
    for when in ("before", "after"):
        assert factors(result, f"{when}, encoder") == pytest.approx((1, 4), rel=1e-5)
    flags = {name: bool(value) for name, value in result.tensors.items() if value.dtype.is_floating_point is False}
    assert flags == {
        "before, the dictionary is as it was": True,
        "after, the dictionary is as it was": True,
        "nothing stays": True,
    }


def test_a_release_that_divides_once_is_left_exactly_as_it_is():
    result = testbed(
        "tools.probes:untouched", "5.5.4", "1.15.0", target=DOUBLE.targets[0], env={"HOTFIX_ONLY": DOUBLE.id}
    )
    counts = {name: int(value) for name, value in result.tensors.items()}
    assert counts.pop("functions") > 50
    assert counts == {"changed": 0, "ours": 0, "operations": 0}
    assert outcomes(result, DOUBLE) == {str(target): ("fixed", "skipped") for target in DOUBLE.targets}


# -- ga-loss-kwargs-swallowed-vlm --------------------------------------------------------------------------------------


def test_a_model_that_ignores_the_number_says_so():
    tensors = testbed(f"{CASES}:swallowed", "4.51.3", "1.15.0", "peft==0.15.2", hotfix=False).tensors
    factors_of = {when: tensors.pop(f"{when}: loss").tolist() for when in ("before", "after", "adapted", "reverted")}
    assert factors_of == pytest.approx({"before": 4, "after": 1, "adapted": 1, "reverted": 4}, rel=1e-5)
    for when, factor in factors_of.items():
        assert tensors.pop(f"{when}: gradients").tolist() == pytest.approx([factor, factor], rel=1e-5)
    assert len(tensors) == 6
    assert [name for name, value in tensors.items() if not value] == []


@pytest.mark.parametrize("asked_for", [True, False])
def test_where_accelerate_divides_too_the_fixes_together_are_right(asked_for):
    env = {"HOTFIX_OPTIN": SEQ2SEQ.id} if asked_for else {}
    result = testbed(f"{CASES}:swallowed_and_divided", "5.2.0", "1.15.0", env=env)
    for kind in (*DECODERS, "vipllava", *(["t5"] if asked_for else [])):
        assert_equal_both_ways(result, kind)
    # A release with the bug that is not repaired: Accelerate makes its gradients right, as before.
    for kind in ("encoder", *([] if asked_for else ["t5"])):
        assert factors(result, kind) == pytest.approx((1, 4), rel=1e-5)
    vipllava = "transformers.models.vipllava.modeling_vipllava:VipLlavaForConditionalGeneration.__init__"
    t5 = "transformers.models.t5.modeling_t5:T5ForConditionalGeneration.__init__"
    assert outcomes(result, SWALLOWED)[vipllava] == ("broken", "applied")
    assert outcomes(result, SEQ2SEQ).get(t5, ("", "disabled"))[1] == ("applied" if asked_for else "disabled")
    assert outcomes(result, DOUBLE) == {str(target): ("broken", "applied") for target in DOUBLE.targets}


# -- deepspeed-double-gas-scaling --------------------------------------------------------------------------------------

# The length of the gradients of micro-batches as a multiple of the right one, under DeepSpeed's own engine.
ENGINE = {
    "4.46.2": {"decoder": 0.25, "encoder": 1},
    "4.47.0": {"decoder": 1, "encoder": 1},
    "4.47.1": {"decoder": 0.25, "encoder": 1},
    "4.48.0": {"decoder": 1, "encoder": 0.25},
    "4.48.3": {"decoder": 0.25, "encoder": 0.25},
}
ENGINES = [pytest.param(release, marks=() if release == "4.47.1" else pytest.mark.slow) for release in ENGINE]


@pytest.mark.parametrize("release", ENGINES)
def test_deepspeed_divides_a_loss_that_nobody_else_divided(release):
    case, beside = "hotfix.proofs.training.deepspeed_double_gas_scaling:case", ("1.1.1", "deepspeed==0.16.2")
    before, after = (testbed(case, release, *beside, hotfix=hotfix) for hotfix in (False, True))
    assert {name: float(value) for name, value in before.tensors.items()} == pytest.approx(ENGINE[release], rel=1e-5)
    right = {"decoder": 1, "encoder": 1}
    assert {name: float(value) for name, value in after.tensors.items()} == pytest.approx(right, rel=1e-5)
    repaired = ("fixed", "skipped") if release == "4.47.0" else ("broken", "applied")
    assert outcomes(after, SCALED) == {str(SCALED.targets[0]): repaired}
