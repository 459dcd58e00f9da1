"""Programs for attention and caches that work without hotfix give the same results with it, bit for bit."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.working.models.programs_attention"


def differences(program, release, fix, is_applied=True, **options):
    """The names of the results that a fix changes; both runs must succeed."""
    case = f"{PROGRAMS}:{program}"
    stock = run(case, transformers=release, hotfix=False, **options).require().tensors
    armed = run(case, transformers=release, env={"HOTFIX_ONLY": fix}, **options).require()
    applied = any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert applied is is_applied
    assert stock.keys() == armed.tensors.keys()
    return [name for name in stock if not torch.equal(stock[name], armed.tensors[name])]


@pytest.mark.parametrize("release", ["4.49.0", "4.41.2"])
def test_generation_without_a_cache_runs_with_padding_on_the_right(release):
    """Number 8: it ran with the release, and the repair refused it."""
    assert differences("generated_without_a_cache", release, "fa2-right-padding-check") == []


def test_a_program_that_handles_the_refused_batch_itself_does_so():
    assert differences("padded_on_the_left_when_refused", "4.49.0", "fa2-right-padding-check") == []


@pytest.mark.parametrize("release", ["4.55.0", "4.54.1"])
@pytest.mark.parametrize("program", ["common_function_executed_again", "common_function_replaced"])
def test_a_copy_of_the_common_function_keeps_the_lengths_of_generate(program, release):
    """Number 46: a repair in two places; one is a copy that was executed elsewhere."""
    assert differences(program, release, "fa2-posids-varlen-unpadded-batch") == []


@pytest.mark.parametrize("release", ["4.54.0", "4.54.1", "4.55.0"])
def test_a_static_cache_of_one_sample_has_more_keys_than_queries(release):
    """4.55.1 to 4.55.4, which repaired this function, are wrong here."""
    assert differences("static_cache_of_one_sample", release, "fa2-posids-varlen-unpadded-batch") == []


@pytest.mark.parametrize(
    ("release", "fix"),
    [("4.55.0", "fa2-posids-varlen-unpadded-batch"), ("4.55.2", "generate-fa2-nameerror")],
)
@pytest.mark.parametrize("program", ["attention_that_reads_lengths", "layers_that_read_lengths"])
def test_an_attention_of_ones_own_gets_the_lengths_of_generate(program, release, fix):
    assert differences(program, release, fix) == []


@pytest.mark.parametrize("release", ["4.47.1", "4.52.4"])
def test_lengths_of_an_earlier_step_are_ignored(release):
    assert differences("lengths_of_the_prompt", release, "fa2-varlen-kwargs-ignored") == []


def test_values_in_float32_are_cast():
    assert differences("values_in_float32", "4.48.3", "fa-peft-dtype-check") == []


@pytest.mark.parametrize("release", ["4.47.1", "4.55.4"])
def test_a_window_to_both_sides_stays_as_wide(release):
    assert differences("window_to_both_sides", release, "fa-sliding-window-off-by-one") == []


@pytest.mark.parametrize("release", ["4.49.0", "4.55.4"])
def test_a_window_that_the_program_counts_without_the_token_stays_as_wide(release):
    assert differences("window_without_the_token_itself", release, "fa-sliding-window-off-by-one") == []


def test_a_cache_that_drops_keys_gets_the_mask_of_those_that_it_keeps():
    assert differences("rolling_cache", "4.45.2", "fa2-sliding-window-mask-slicing") == []


def test_a_cache_without_values_is_put_together():
    fix = "cache-from-batch-splits-values"
    assert differences("keys_that_are_values", "4.46.3", fix, flash_attn=None) == []


@pytest.mark.parametrize("release", ["4.56.0", "4.57.6"])
@pytest.mark.parametrize("program", ["prefix_attention", "layers_that_are_not_causal"])
def test_gpt2_is_made_causal_only_under_flash_attention_and_if_it_is(program, release):
    """Number 44: "flash" in the name of another attention, and layers that were set to non-causal."""
    assert differences(program, release, "gpt2-fa2-padding-loses-causality") == []


@pytest.mark.parametrize("program", ["layer_by_itself", "dynamic_cache_past_the_window"])
def test_layers_with_a_window_run_without_the_cache_of_gemma(program):
    """Number 42: a layer that is called alone; and a cache that returns all keys."""
    assert differences(program, "4.48.0", "gemma2-cohere2-window-crash", flash_attn=None) == []


def test_an_attention_of_ones_own_gets_the_mask_of_the_release():
    assert differences("attention_of_ones_own_under_a_window", "4.46.3", "gemma2-fa2-no-window") == []


def test_an_attention_that_is_not_causal_gets_no_window():
    assert differences("gemma2_to_both_sides", "4.43.0", "gemma2-fa2-no-window") == []


def test_scores_are_capped_only_if_the_configuration_has_the_number():
    fix = "gemma2-attn-softcap-missing"
    assert differences("gemma2_without_the_number", "4.42.1", fix, flash_attn=None) == []


def test_a_mask_that_forbids_nothing_forbids_nothing():
    fix = "gemma2-noncausal-sliding-layers"
    assert differences("masks_that_forbid_nothing", "4.42.1", fix, flash_attn=None) == []


def test_the_cache_of_another_model_keeps_its_layout():
    fix = "gemma2-sliding-layer-parity"
    assert differences("hybrid_cache_of_another_model", "4.42.3", fix, flash_attn=None) == []


def test_a_wrapped_function_of_flash_attn_is_left_alone():
    assert differences("unpadded_by_a_patch", "4.48.3", "fa2-unpad-input-five-values") == []
