"""Programs for Qwen's multimodal models that work without hotfix give the same results with it, bit for bit."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.working.models.programs_qwen"
TEXT_POSITIONS = "qwen2vl-text-position-ids-from-mrope"


def both(program, release, *fixes):
    """The results of a program in stock and armed; both runs must succeed."""
    case = f"{PROGRAMS}:{program}"
    stock = run(case, transformers=release, hotfix=False).require().tensors
    armed = run(case, transformers=release, env={"HOTFIX_ONLY": ",".join(fixes)}).require()
    applied = {row["fix"] for row in armed.report["outcomes"] if row["state"] == "applied"}
    assert applied == set(fixes)
    assert stock.keys() == armed.tensors.keys()
    return stock, armed.tensors


def differences(program, release, *fixes):
    """The names of the results that fixes change."""
    stock, armed = both(program, release, *fixes)
    return [name for name in stock if not torch.equal(stock[name], armed[name])]


@pytest.mark.parametrize("release", ["4.57.6", "5.6.0"])
@pytest.mark.parametrize("program", ["seconds_in_half_precision", "seconds_under_a_default_of_half_precision"])
def test_whole_seconds_in_half_precision_keep_their_positions(program, release):
    """Number 38: positions beyond 256 were rounded."""
    assert differences(program, release, "qwen25vl-second-per-grid-int-truncation") == []


def test_a_model_that_places_frames_and_counts_images_itself_goes_on_to():
    fixes = "qwen25vl-image-temporal-positions", "qwen25vl-second-per-grid-int-truncation"
    assert differences("positions_of_ones_own", "5.5.3", *fixes) == []


def test_sizes_that_fit_the_text_are_read_as_they_are():
    assert differences("frames_side_by_side", "5.3.0", "qwen3vl-v5-video-stopiteration") == []


@pytest.mark.parametrize("release", ["4.56.2", "4.57.6", "5.0.0"])
def test_texts_packed_by_three_rows_of_positions_stay_apart(release):
    """Number 39: each text saw the ones before it."""
    assert differences("packed_texts", release, TEXT_POSITIONS) == []


def test_packed_texts_with_images_stay_apart():
    stock, armed = both("packed_texts_are_apart", "4.56.2", TEXT_POSITIONS)
    assert max(stock["difference"], armed["difference"]) < 1e-4


@pytest.mark.parametrize("program", ["packed_with_images_under_flash", "attention_that_reads_positions"])
def test_an_attention_that_reads_positions_gets_those_of_the_release(program):
    """Number 39, too."""
    assert differences(program, "4.56.2", TEXT_POSITIONS) == []


@pytest.mark.parametrize("release", ["4.56.2", "4.57.6"])
def test_positions_in_the_text_break_no_graph(release):
    """On 4.56.2 `globals()` in the repaired forward ended `torch.compile(fullgraph=True)`."""
    assert differences("compiled_without_breaks", release, TEXT_POSITIONS) == ["image"]


def test_attentions_that_are_no_functions_run_as_before():
    """hotfix read their ``__dict__``: an AttributeError, and no graph for a partial function."""
    assert differences("attentions_that_are_objects", "4.56.2", TEXT_POSITIONS) == []


def test_deltas_of_ones_own_are_added_to_the_positions_of_the_release():
    assert differences("deltas_of_ones_own", "4.56.2", "qwen2vl-decode-delta-left-padding") == []


def test_the_next_token_behind_an_image_is_placed_as_before():
    assert differences("steps_behind_a_cache", "5.3.0", "qwenvl-v5-stale-rope-deltas-forward") == []


def test_a_users_attention_keeps_images_apart_under_any_name():
    """Number 45: `sdpa_flash` was taken for FlashAttention, got no mask, and two images mixed."""
    assert differences("attention_with_flash_in_its_name", "4.53.0", "qwenvl-vision-fa2-crash") == []
