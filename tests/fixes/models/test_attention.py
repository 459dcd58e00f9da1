"""The fixes of attention on real releases with the real flash-attn: wrong before, right after, gone where not needed.

Where two attentions are compared, one computes in bfloat16, which has a spacing of 2^-8 and is rounded some ten times
on the way through two layers, and the other, eager, in float32 and one sample at a time: 0.8 to 1.6 % were measured,
relative to the norm of a sample; the bound is 2 %. Everything else is compared bit by bit.
"""

from __future__ import annotations

from functools import cache

import pytest

from hotfix.models import fa2_posids_varlen_unpadded_batch, generate_fa2_nameerror
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.models.attention"
UNTOUCHED = "tools.probes:untouched"
BOUND = 2e-2


@cache
def ran(case, release, hotfix=True, target=None, only=""):
    return run(case, transformers=release, hotfix=hotfix, target=target, env={"HOTFIX_ONLY": only} if only else {})


def tensors(case, release, hotfix=True, target=None):
    return ran(case, release, hotfix, target).require().tensors


def outcomes(result, fix):
    return {row["target"]: (row["verdict"], row["state"]) for row in result.report["outcomes"] if row["fix"] == fix.id}


def off(got, expected):
    """How far each sample is from the reference, relative to its norm."""
    got, expected = got.float().flatten(1), expected.float().flatten(1)
    return ((got - expected).norm(dim=1) / expected.norm(dim=1)).tolist()


def different(first, other):
    assert first.keys() == other.keys()
    return [name for name in first if not first[name].equal(other[name])]


def assert_untouched(release, fix, verdict):
    result = ran(UNTOUCHED, release, True, fix.targets[0], fix.id).require()
    counts = {name: int(count) for name, count in result.tensors.items()}
    assert counts.pop("functions") > 0
    assert set(counts.values()) == {0}
    assert set(outcomes(result, fix).values()) <= {(verdict, "skipped"), ("fixed", "skipped")}


# -- fa2-posids-varlen-unpadded-batch ----------------------------------------------------------------------------------

UNPADDED = "hotfix.proofs.models.fa2_posids_varlen_unpadded_batch:case"
FORWARD, PREPARE = fa2_posids_varlen_unpadded_batch.FIX.targets


def test_only_the_first_sample_of_an_unpadded_batch_is_right_before():
    before, fixed = tensors(UNPADDED, "4.54.0", False, FORWARD), tensors(UNPADDED, "4.55.1", False, FORWARD)
    first, *others = off(before["logits"], fixed["logits"])
    assert first == 0
    assert min(others) > 0.1
    assert before["packed logits"].equal(fixed["packed logits"])


@pytest.mark.parametrize("case", ["batches", "decoding"])
def test_positions_without_a_zero_crash_before(case):
    result = ran(f"{CASES}.unpadded:{case}", "4.55.0", False)
    assert result.error[0] == "RuntimeError"
    assert result.error[1].startswith("max(): Expected reduction dim to be specified for input.numel() == 0")


@pytest.mark.parametrize("release", ["4.54.0", "4.55.0"])
def test_training_on_an_unpadded_batch_is_bitwise_the_fixed_release(release):
    result = ran(UNPADDED, release, True, FORWARD).require()
    assert set(outcomes(result, fa2_posids_varlen_unpadded_batch.FIX).values()) == {("broken", "applied")}
    assert len(result.tensors) > 20
    assert not different(result.tensors, tensors(UNPADDED, "4.55.1", False, FORWARD))


@pytest.mark.parametrize("case", ["batches", "decoding"])
def test_every_sample_of_every_unpadded_batch_equals_eager_attention(case):
    got = dict(tensors(f"{CASES}.unpadded:{case}", "4.54.0"))
    expected = got.pop("eager")
    assert got
    assert {name: gap for name, logits in got.items() if max(gap := off(logits, expected)) > BOUND} == {}


def test_packed_sequences_stay_apart_also_where_the_fixed_release_mixes_them():
    case = f"{CASES}.unpadded:packed"
    after, before, fixed = (
        tensors(case, *arguments) for arguments in (("4.54.0",), ("4.54.0", False), ("4.55.1", False))
    )
    assert not different(after, before)
    assert after["one row"].equal(fixed["one row"])
    assert max(off(after["two rows"], after["eager"])) < BOUND
    assert min(off(fixed["two rows"], fixed["eager"])) > 0.5


# -- generation: the other target of that fix, and generate-fa2-nameerror ----------------------------------------------


def test_generation_is_wrong_or_impossible_before():
    generation = f"{CASES}.generation:both"
    first, *others = off(*(tensors(generation, "4.54.0", False)[name] for name in ("logits", "eager logits")))
    assert first < BOUND
    assert min(others) > 0.1
    result = ran(generation, "4.55.1", False)
    assert result.error[0] == "NameError"
    assert "'prepare_fa_kwargs_from_position_ids'" in result.error[1]
    half = tensors(generation, "4.55.2", False)
    assert max(off(half["logits"], half["eager logits"])) < BOUND
    assert min(off(half["continued logits"], half["eager continued logits"])) > 0.5


@pytest.mark.parametrize("release", ["4.54.0", "4.55.0", "4.55.1", "4.55.2"])
def test_generation_is_bitwise_the_fixed_release_and_has_the_tokens_of_eager_attention(release):
    generation = f"{CASES}.generation:both"
    after = tensors(generation, release)
    assert not different(after, tensors(generation, "4.55.3", False))
    for prefix in "", "padded ", "continued ":
        assert after[f"{prefix}tokens"].equal(after[f"eager {prefix}tokens"])
        assert max(off(after[f"{prefix}logits"], after[f"eager {prefix}logits"])) < BOUND
    fix = generate_fa2_nameerror.FIX if release >= "4.55.1" else fa2_posids_varlen_unpadded_batch.FIX
    assert outcomes(ran(generation, release), fix)[str(PREPARE)] == ("broken", "applied")


# -- where they are not needed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "fix", "verdict"),
    [
        ("4.53.3", fa2_posids_varlen_unpadded_batch.FIX, "fixed"),
        ("4.55.1", fa2_posids_varlen_unpadded_batch.FIX, "fixed"),
        ("4.55.3", generate_fa2_nameerror.FIX, "fixed"),
    ],
)
def test_a_neighbouring_release_is_left_exactly_as_it_is(release, fix, verdict):
    assert_untouched(release, fix, verdict)
