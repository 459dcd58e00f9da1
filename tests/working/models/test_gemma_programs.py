"""Programs with Gemma 3, Gemma 4 and GLM-4V that work without hotfix give the same results with it, bit for bit."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.working.models.programs_gemma"


def differences(program, release, fix):
    """The names of the results that a fix changes; both runs must succeed."""
    case = f"{PROGRAMS}:{program}"
    options = {"transformers": release, "flash_attn": None}
    stock = run(case, hotfix=False, **options).require().tensors
    armed = run(case, env={"HOTFIX_ONLY": fix}, **options).require()
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert stock.keys() == armed.tensors.keys()
    return [name for name in stock if not torch.equal(stock[name], armed.tensors[name])]


@pytest.mark.parametrize("release", ["4.50.3", "4.51.3"])
def test_images_that_are_numbered_stay_apart_and_causal(release):
    """Number 43: the second image saw the text after it."""
    assert differences("numbered_images", release, "gemma3-bidirectional-across-images") == []


@pytest.mark.parametrize("release", ["4.53.0", "4.53.3"])
def test_a_chat_goes_on_behind_its_cache(release):
    """Number 40: an IndexError in the second turn."""
    assert differences("chat_of_two_turns", release, "gemma3-mask-image-distance-heuristic") == []


def test_a_users_mask_function_gets_the_arguments_of_the_release():
    assert differences("mask_of_ones_own", "4.53.0", "gemma3-mask-image-distance-heuristic") == []


def test_hooks_that_keep_arguments_of_gemma4_can_copy_and_save_them():
    assert differences("hooks_that_keep_arguments", "5.5.1", "gemma4-kv-share-no-cache") == []


@pytest.mark.parametrize(
    "program", ["hooks_that_rebuild", "gemma4_layers_by_themselves", "layers_with_fixed_arguments"]
)
@pytest.mark.parametrize("release", ["5.5.0", "5.5.1"])
def test_layers_of_gemma4_work_behind_hooks_by_themselves_and_with_arguments_of_their_own(program, release):
    """Number 7: hooks rebuilt the dict, and a layer called alone had none."""
    assert differences(program, release, "gemma4-kv-share-no-cache") == []


def test_states_shared_by_layers_of_gemma4_pass_hooks():
    fix = "gemma4-kv-share-no-cache"
    armed = run(
        f"{PROGRAMS}:hooks_without_a_cache", transformers="5.5.1", flash_attn=None, env={"HOTFIX_ONLY": fix}
    ).require()
    assert armed.tensors["difference"].item() == 0


@pytest.mark.parametrize("program", ["one_image", "eager_attention_of_ones_own"])
def test_glm4v_attends_as_before_where_no_images_mix(program):
    assert differences(program, "4.53.0", "glm4v-bool-mask") == []
