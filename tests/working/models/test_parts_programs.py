"""Programs with custom parts next to the library's give the same results with hotfix, bit for bit."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAMS = "tests.working.models.programs_parts"


def differences(program, release, fix, **options):
    """The names of the results that a fix changes; both runs must succeed."""
    case = f"{PROGRAMS}:{program}"
    stock = run(case, transformers=release, hotfix=False, **options).require().tensors
    armed = run(case, transformers=release, env={"HOTFIX_ONLY": fix}, **options).require()
    assert any(row["fix"] == fix and row["state"] == "applied" for row in armed.report["outcomes"])
    assert stock.keys() == armed.tensors.keys()
    return [name for name in stock if not torch.equal(stock[name], armed.tensors[name])]


@pytest.mark.parametrize(
    ("program", "release", "fix"),
    [
        ("opt_with_another_eager_attention", "4.52.3", "opt-double-scaling"),
        ("opt_with_a_hook_on_keys", "4.52.3", "opt-double-scaling"),
        ("opt_with_keys_of_ones_own", "4.52.3", "opt-double-scaling"),
        ("opt_with_a_hook_on_every_module", "4.52.3", "opt-double-scaling"),
        ("opt_with_a_hook_before", "4.52.3", "opt-double-scaling"),
        ("opt_with_a_parametrization", "4.52.3", "opt-double-scaling"),
        ("bigcode_with_a_hook", "4.55.0", "gptbigcode-inverse-scale"),
        ("bigcode_with_a_projection", "4.55.0", "gptbigcode-inverse-scale"),
        ("kernel_of_a_module_with_such_a_name", "4.48.3", "fa-sliding-window-off-by-one"),
        ("lengths_of_the_prompt_as_tensors", "4.52.4", "fa2-varlen-kwargs-ignored"),
        ("common_function_without_a_window", "4.43.0", "gemma2-fa2-no-window"),
        ("keys_cut_to_the_mask", "4.42.4", "fa2-sliding-window-mask-slicing"),
        ("keys_cut_to_the_mask", "4.45.2", "fa2-sliding-window-mask-slicing"),
        ("one_image_in_rows", "4.51.3", "gemma3-bidirectional-across-images"),
        ("one_image_in_rows", "4.53.0", "gemma3-mask-image-distance-heuristic"),
        ("images_with_negative_numbers", "4.51.3", "gemma3-bidirectional-across-images"),
        ("attention_that_wraps_the_librarys", "4.53.0", "qwenvl-vision-fa2-crash"),
        ("eager_attention_that_reads_positions", "4.56.2", "qwen2vl-text-position-ids-from-mrope"),
        ("positions_put_right_afterwards", "4.56.2", "qwen2vl-decode-delta-left-padding"),
        ("experts_with_a_limit_of_their_own", "4.55.0", "mxfp4-swiglu-limit"),
        ("images_with_right_positions", "4.57.6", "idefics-smolvlm-position-ids"),
        ("images_with_right_positions", "5.0.0", "idefics-smolvlm-position-ids"),
    ],
)
def test_a_part_of_ones_own_decides(program, release, fix):
    assert differences(program, release, fix) == []


def test_a_hook_of_ones_own_is_seen_among_those_of_accelerate():
    extras = ("accelerate==1.7.0",)
    assert differences("opt_with_a_hook_of_accelerate", "4.52.3", "opt-double-scaling", extras=extras) == []


def test_a_subclass_that_passes_inputs_on_stays_repaired():
    fix = "qwen2vl-decode-delta-left-padding"
    assert differences("inputs_passed_on", "4.56.2", fix) == ["tokens", "logits"]
