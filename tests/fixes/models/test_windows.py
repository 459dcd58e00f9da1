"""Sliding windows under flash attention on real releases: the keys that a query sees are counted, before and after.

Which keys a query sees is found by changing one token after the other and looking for logits that change, bit by bit.
Where flash attention in bfloat16 is compared with attention in float32, inputs are the same bfloat16 numbers, so that
only weights and output are rounded: 1.6e-3 of the norm were measured, the bound is 4e-3. Whole models in bfloat16 and
in float32 are 1.8e-2 apart; the bound is 2.5e-2. The slice of the matrix tests that each fixed release is left alone.
"""

from __future__ import annotations

from functools import cache

import pytest

from hotfix.models import fa2_sliding_window_mask_slicing as mask_cut
from hotfix.models import fa_sliding_window_off_by_one as off_by_one
from hotfix.models import gemma2_fa2_no_window as gemma2_window
from hotfix.proofs.zoo import WINDOW
from tests.facts import lacking
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.models.attention.windows"
UNPADDED, PADDING_CHECK = "fa2-posids-varlen-unpadded-batch", "fa2-right-padding-check"


@cache
def tensors(case, release, *fixes):
    """The results of a case with these fixes alone, or without hotfix."""
    armed = {"HOTFIX_ONLY": ",".join(fixes)} if fixes else {}
    return run(case, transformers=release, hotfix=bool(fixes), env=armed).require().tensors


def seen(width, tokens=12):
    """The matrix of which keys are seen by which query, if the last `width` are."""
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
    return ((distance >= 0) & (distance < width)).long()


def off(got, expected):
    return ((got.float() - expected.float()).norm() / expected.float().norm()).item()


# -- fa-sliding-window-off-by-one --------------------------------------------------------------------------------------

WINDOW_OFF = off_by_one.FIX.id


def test_a_query_sees_exactly_the_window_after_and_one_key_more_before():
    case = "hotfix.proofs.models.fa_sliding_window_off_by_one:case"
    target = next(candidate for candidate in off_by_one.FIX.targets if ".qwen2." in candidate.module)
    before = run(case, transformers="4.42.4", target=target, hotfix=False).require().tensors
    after = run(case, transformers="4.42.4", target=target, env={"HOTFIX_ONLY": WINDOW_OFF}).require().tensors
    assert before["keys seen"].equal(seen(WINDOW + 1))
    assert after["keys seen"].equal(seen(WINDOW))
    assert min(off(before[name], after[name]) for name in ("alone", "padded")) > 0.1


def test_the_common_function_is_attention_in_float32_over_the_window():
    case = f"{CASES}:common"
    after, before = tensors(case, "4.47.1", WINDOW_OFF), tensors(case, "4.47.1")
    for name in "causal", "to both sides":
        assert off(after[name], after[f"expected {name}"]) < 4e-3
    assert off(before["causal"], before["expected causal"]) > 0.1
    assert before["to both sides"].equal(after["to both sides"])


def test_with_the_fix_of_unpadded_batches_both_hold_and_each_is_taken_out_alone():
    logits = tensors(f"{CASES}:together", "4.54.0", WINDOW_OFF, UNPADDED)
    assert logits["both"].equal(tensors(f"{CASES}:plain", "4.56.0")["logits"])
    assert logits["batch"].equal(tensors(f"{CASES}:plain", "4.54.0", UNPADDED)["logits"])
    assert logits["neither"].equal(logits["reverted"])
    assert logits["as it was"].item()
    names = ("neither", "window", "batch", "both")
    assert not any(logits[name].equal(logits[other]) for name in names for other in names if name != other)


def test_right_padded_batches_with_a_cache_have_the_window_too():
    logits = tensors(f"{CASES}:right_padded", "4.42.4", WINDOW_OFF, PADDING_CHECK)
    assert logits["with a cache"].equal(logits["without"])
    assert logits["without"].equal(tensors(f"{CASES}:right_padded", "4.56.0")["without"])


# -- fa2-sliding-window-mask-slicing -----------------------------------------------------------------------------------

MASK_CUT = mask_cut.FIX.id


@pytest.mark.parametrize(("release", "error"), [("4.36.0", "KeyError"), ("4.41.2", "ValueError")])
def test_continued_tokens_are_bitwise_those_of_a_forward_without_a_cache(release, error):
    case = f"{CASES}:continued"
    before = run(case, transformers=release, hotfix=False)
    assert before.error is not None
    assert before.error[0] == error
    logits = tensors(case, release, MASK_CUT, WINDOW_OFF, PADDING_CHECK)
    for name in "by one", "by several":
        assert logits[name].equal(logits[f"{name} whole"]), name


# -- gemma2-fa2-no-window ----------------------------------------------------------------------------------------------

NO_WINDOW = gemma2_window.FIX.id


@pytest.mark.parametrize("release", ["4.44.0", "4.46.3"])
def test_padded_batches_of_gemma2_past_the_window_are_eager_attention_in_float32(release):
    case = f"{CASES}:gemma2"
    before = run(case, transformers=release, hotfix=False)
    assert before.error is not None
    assert (before.error[0], lacking(before.error[1], "too many values")) == ("ValueError", [])
    logits = tensors(case, release, NO_WINDOW, WINDOW_OFF)
    assert max(off(logits[name], logits["eager"]) for name in ("padded", "with a cache")) < 2.5e-2
    alone = tensors(case, release, NO_WINDOW)
    assert min(off(alone[name], alone["eager"]) for name in ("padded", "with a cache")) > 0.1
