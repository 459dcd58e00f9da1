"""Programs for text models that work without hotfix give the same results with it, bit for bit."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.working.models.programs_decoders"


def differences(program, release, fix, **options):
    """The names of the results that a fix changes; both runs must succeed."""
    case = f"{PROGRAMS}:{program}"
    stock = run(case, transformers=release, hotfix=False, **options).require().tensors
    armed = run(case, transformers=release, env={"HOTFIX_ONLY": fix, "HOTFIX_OPTIN": fix}, **options).require()
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert stock.keys() == armed.tensors.keys()
    return [name for name in stock if not torch.equal(stock[name], armed.tensors[name])]


@pytest.mark.parametrize("program", ["opt_with_half_the_exponent", "opt_with_a_hook", "opt_with_an_attention"])
def test_an_opt_that_takes_one_scaling_back_itself_is_not_scaled_less(program):
    assert differences(program, "4.52.3", "opt-double-scaling") == []


def test_an_opt_with_a_hook_that_only_reads_stays_repaired():
    assert differences("opt_observed", "4.52.3", "opt-double-scaling") == ["logits"]


@pytest.mark.parametrize("program", ["llama4_with_a_router", "llama4_with_a_hook"])
def test_scores_that_the_program_has_put_in_order_stay_in_it(program):
    assert differences(program, "4.56.0", "llama4-moe-score-order") == []


@pytest.mark.parametrize("program", ["rotary_without_numbers", "rotary_traced"])
def test_a_rotary_embedding_without_autocast_is_that_of_the_release(program):
    assert differences(program, "4.38.1", "llama-gemma-rope-autocast") == []


def test_a_rotary_embedding_of_ones_own_is_called_once_and_as_before():
    assert differences("phi3_with_a_rotary_embedding", "4.44.0", "phi3-fa2-rope-position-ids") == []


def test_a_phi_that_was_trained_without_a_bias_is_read_without_one():
    """Number 47: a missing key, and an optimizer with one more parameter than its state."""
    assert differences("phi_trained_and_resumed", "4.48.0", "phi-lm-head-bias") == []


@pytest.mark.parametrize("release", ["5.0.0", "5.12.1"])
def test_long_texts_have_frequencies_of_their_own(release):
    """Number 41: they were read with the frequencies of the longest earlier text."""
    assert differences("long_texts_only", release, "v5-dynamic-rope-not-reset") == []


def test_prompts_longer_than_the_models_length_are_continued():
    assert differences("prompts_of_the_maximum", "5.2.0", "v5-model-max-length-extended") == []


def test_a_t5_that_does_not_say_false_scales():
    assert differences("tied_by_default", "5.0.0", "v5-t5-scaled-outputs") == []


def test_experts_that_were_made_without_a_limit_run():
    assert differences("experts_without_a_limit", "4.55.0", "mxfp4-swiglu-limit") == []


def test_a_program_that_adds_the_types_itself_gets_their_mask():
    assert differences("types_added_when_asked_for", "5.5.4", "v5-gemma3-token-type-ids-required") == []
