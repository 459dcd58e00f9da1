"""The fixes of how models call their attention, on real releases: wrong before, right after, gone where not needed.

Bounds and helpers are those of `test_attention`. All cases of one release run in one process.
"""

from __future__ import annotations

import pytest

from hotfix.models import (
    fa2_varlen_kwargs_ignored,
    fa_peft_dtype_check,
    fa_sliding_window_off_by_one,
    glm4v_bool_mask,
    gpt2_fa2_padding_loses_causality,
    qwenvl_vision_fa2_crash,
    v5_fa2_s_aux_none,
)
from tests.facts import lacking
from tests.fixes.models.test_attention import BOUND, CASES, different, off, outcomes, ran
from tools.testbed.run import run_many

pytestmark = pytest.mark.testbed


def part(tensors, case):
    prefix = f"{case}: "
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def repaired(case, release, fix, oracle):
    """The results of a release with all fixes, and of its oracle: one is repaired and reverted, the other untouched."""
    [target, *_] = fix.targets
    result, right = ran(case, release, True, target), ran(case, oracle, True, target, fix.id)
    assert_repaired(fix, target, result, right)
    return result.tensors, right.tensors


def assert_repaired(fix, target, result, right):
    result.require()
    right.require()
    assert verdicts(result, fix)[str(target)] == "broken"
    assert "broken" not in verdicts(right, fix).values()
    assert part(result.tensors, "armed")["operations"] > 0
    for counts in part(result.tensors, "reverted"), part(right.tensors, "armed"):
        assert counts.pop("functions") > 0
        assert set(map(int, counts.values())) == {0}
    assert not different(part(result.tensors, "case"), part(right.tensors, "case"))


def verdicts(result, fix):
    return {target: verdict for target, (verdict, _) in outcomes(result, fix).items()}


def assert_eager(logits):
    assert max(off(logits["flash"], logits["eager"])) < BOUND


# -- v5-fa2-s-aux-none -------------------------------------------------------------------------------------------------


def test_models_without_sinks_run():
    fix, case = v5_fa2_s_aux_none.FIX, f"{CASES}.sinks:without_sinks"
    assert ran(case, "5.6.0", False).error[:2] == ("AttributeError", "'NoneType' object has no attribute 'to'")
    after, _ = repaired(case, "5.6.0", fix, "5.6.1")
    assert_eager(part(after, "padded"))


# -- fa-peft-dtype-check -----------------------------------------------------------------------------------------------


def test_float32_queries_are_refused_before_and_cast_after():
    fix = fa_peft_dtype_check.FIX
    for case in "under_autocast", "float32_norms":
        error = ran(f"{CASES}.dtypes:{case}", "4.48.3", False).error
        assert (error[0], lacking(error[1], "FlashAttention", "fp16 and bf16")) == ("RuntimeError", [])
    after, fixed = repaired(f"{CASES}.dtypes:mixed", "4.48.3", fix, "4.49.0")
    assert_eager(part(after, "autocast"))
    assert not different(part(after, "norms"), part(fixed, "norms"))


# -- qwenvl-vision-fa2-crash -------------------------------------------------------------------------------------------


def test_vision_and_audio_encoders_keep_their_samples_apart():
    fix, case = qwenvl_vision_fa2_crash.FIX, f"{CASES}.encoders:everything"
    before = run_many(case, fix.targets, transformers="4.53.0", hotfix=False)
    assert {result.error and result.error[0] for result in before} == {"AttributeError", "IndexError"}
    after = run_many(case, fix.targets, transformers="4.53.0")
    fixed = run_many(case, fix.targets, transformers="4.53.1", env={"HOTFIX_ONLY": fix.id})
    for target, value, other in zip(fix.targets, after, fixed):
        assert_repaired(fix, target, value, other)
        repaired_rows, right = part(value.tensors, "samples"), part(other.tensors, "samples")
        assert max(off(repaired_rows["flash"][None], repaired_rows["eager"][None])) < BOUND
        assert repaired_rows["sdpa"].equal(right["sdpa"])


# -- glm4v-bool-mask ---------------------------------------------------------------------------------------------------


def test_images_stay_apart_under_eager_attention():
    fix, case = glm4v_bool_mask.FIX, f"{CASES}.encoders:under_eager"
    before = ran(case, "4.53.0", False, fix.targets[0]).require().tensors
    after, _ = repaired(case, "4.53.0", fix, "4.53.1")
    gaps = [max(off(tensors["images: together"][None], tensors["images: eager"][None])) for tensors in (before, after)]
    assert gaps[0] > 0.1
    assert gaps[1] < 1e-5


# -- gpt2-fa2-padding-loses-causality ----------------------------------------------------------------------------------


def test_a_padded_gpt2_does_not_see_the_future():
    fix, case = gpt2_fa2_padding_loses_causality.FIX, f"{CASES}.padded_gpt2:everything"
    before = ran(case, "4.57.6", False, fix.targets[0]).require().tensors
    after, _ = repaired(case, "4.57.6", fix, "5.0.0")
    for way in "padded", "continued":
        assert min(off(before[f"{way}: flash"], before[f"{way}: eager"])) > 0.1
        assert_eager(part(after, way))
    assert after["padded: sdpa"].equal(before["padded: sdpa"])


# -- fa2-varlen-kwargs-ignored -----------------------------------------------------------------------------------------


def test_packed_sequences_with_their_lengths_stay_apart():
    fix, case = fa2_varlen_kwargs_ignored.FIX, f"{CASES}.packed_lengths:everything"
    before = ran(case, "4.53.0", False, fix.targets[0]).require().tensors
    after = ran(case, "4.53.0", True, fix.targets[0])
    assert_repaired(fix, fix.targets[0], after, ran(case, "4.53.1", True, fix.targets[0], fix.id))
    for model in "cohere2", "qwen2_5_vl":
        assert min(off(before[f"{model}: flash"], before[f"{model}: eager"])) > 0.1
        assert_eager(part(after.tensors, model))


def test_packed_sequences_with_a_sliding_window_need_two_fixes_of_one_function():
    both = (fa2_varlen_kwargs_ignored.FIX.id, fa_sliding_window_off_by_one.FIX.id)
    case, target = f"{CASES}.packed_lengths:windowed", fa2_varlen_kwargs_ignored.FIX.targets[0]
    tensors = {only: ran(case, "4.53.0", True, target, only).require().tensors for only in (*both, ",".join(both))}
    assert_eager(tensors.pop(",".join(both)))
    assert all(min(off(outputs["flash"], outputs["eager"])) > 0.1 for outputs in tensors.values())
