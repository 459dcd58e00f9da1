"""What the Trainer does to the loss of a micro-batch, on real releases: wrong before, right after.

Equal means equal but for the order of float32 sums, as in test_trainer_accumulation.
"""

from __future__ import annotations

import pytest

from hotfix.training.ga_double_division import FIX as DOUBLE
from tests.bed.run import run
from tests.models.test_trainer_accumulation import CASES, assert_equal_both_ways, factors
from tests.models.trainer.cases import DECODERS

pytest.importorskip("torch")
pytestmark = pytest.mark.bed


def bed(case, release, accelerate, **options):
    return run(case, transformers=release, flash_attn=None, extras=[f"accelerate=={accelerate}"], **options).require()


def outcomes(result, fix):
    return {row["target"]: (row["verdict"], row["state"]) for row in result.report["outcomes"] if row["fix"] == fix.id}


# -- v5-trainer-ga-double-division -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "accelerate"), [("5.2.0", "1.15.0"), pytest.param("5.5.3", "1.3.0", marks=pytest.mark.slow)]
)
def test_the_loss_is_divided_once(release, accelerate):
    result = bed(f"{CASES}:divided_once", release, accelerate, hotfix=False)
    for kind in (*DECODERS, "number in a dictionary"):
        gradient, loss = factors(result, f"before, {kind}")
        assert gradient == pytest.approx(0.25, rel=1e-5)
        assert loss == pytest.approx(1, rel=1e-5)
        assert_equal_both_ways(result, f"after, {kind}")
        for name, value in result.tensors.items():
            if name.startswith(f"after, {kind}: whole batch"):
                assert value.equal(result.tensors[name.replace("after", "before", 1)]), name
    flags = {name: bool(value) for name, value in result.tensors.items() if value.dtype.is_floating_point is False}
    assert flags == {
        "before, the dictionary is as it was": True,
        "after, the dictionary is as it was": True,
        "nothing stays": True,
    }


def test_a_release_that_divides_once_is_left_exactly_as_it_is():
    [target] = DOUBLE.targets
    result = bed("tools.probes:untouched", "5.5.4", "1.15.0", target=target)
    counts = {name: int(value) for name, value in result.tensors.items()}
    assert counts.pop("functions") > 50
    assert counts == {"changed": 0, "ours": 0, "operations": 0}
    assert outcomes(result, DOUBLE) == {str(target): ("fixed", "skipped")}
