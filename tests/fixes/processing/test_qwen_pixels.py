"""Sizes of pictures and videos in Qwen's image processors, slow and fast: wrong before, right after.

A small size gives the same patches however it is set, bitwise, and leaves nothing behind.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import pytest

from hotfix.processing.qwen2vl_saved_size_pixels import FIX as SAVED
from hotfix.proofs.processing._pictures import PACKAGES, SMALL
from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.models.qwen.pixels"
TORCHVISION = f"torchvision=={PACKAGES['torchvision']}"


@cache
def before_and_after(case, release, kinds):
    target = SimpleNamespace(module="", qualname=kinds)
    result = run(
        f"{CASES}:{case}", transformers=release, hotfix=False, flash_attn=None, extras=[TORCHVISION], target=target
    )
    tensors = result.require().tensors
    return [
        {name.removeprefix(when): value for name, value in tensors.items() if name.startswith(when)}
        for when in ("before: ", "after: ")
    ]


def wrong(tensors, kind):
    """The ways in which a processor ignores an argument, for a picture or for a video."""
    small = {"size", "limit", "size in a call", "limit in a call", "limit at loading"}
    own = {name.removeprefix(f"{kind}: "): value for name, value in tensors.items() if name.startswith(f"{kind}: ")}
    ways = set()
    for name, value in own.items():
        way, comma, video = name.partition(", ")
        expected = own["size in a call" + comma + video if way in small else "default" + comma + video]
        if not value.equal(expected):
            ways.add(way)
    assert not own["default"].equal(own["size in a call"])
    return ways


GIVEN, LOADED, IN_A_CALL = "size", "limit at loading", "limit in a call"
ONCE, CALLED = "default after a limit", "default after a limit in a call"


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("4.50.1", {"slow": {GIVEN, LOADED, CALLED}, "fast": {GIVEN, LOADED, ONCE, CALLED}}),
        ("4.57.6", {"slow": {GIVEN}, "fast": {ONCE, LOADED, IN_A_CALL}}),
        pytest.param("4.53.3", {"slow": {GIVEN}, "fast": {GIVEN, ONCE, LOADED, IN_A_CALL}}, marks=pytest.mark.slow),
        pytest.param("5.3.0", {"slow": set(), "fast": {ONCE, IN_A_CALL}}, marks=pytest.mark.slow),
        pytest.param("5.17.0", {"slow": {ONCE, IN_A_CALL}, "pil": {ONCE, IN_A_CALL}}, marks=pytest.mark.slow),
    ],
)
def test_a_size_holds_only_for_the_inputs_it_was_given_for(release, expected):
    stock, repaired = before_and_after("all_fixes", release, ", ".join(expected))
    assert {kind: wrong(stock, kind) for kind in expected} == expected
    assert {kind: wrong(repaired, kind) for kind in expected} == {kind: set() for kind in expected}


@pytest.mark.parametrize(
    ("qualname", "fixes"),
    [
        ("__init__", ("qwen2vl-image-processor-size-discarded", "qwen2vl-image-size-mutation")),
        pytest.param(
            "preprocess", ("qwen2vl-max-pixels-ignored", "qwen2vl-image-size-mutation"), marks=pytest.mark.slow
        ),
    ],
)
def test_fixes_of_one_function_are_taken_out_apart(qualname, fixes):
    target = SimpleNamespace(
        module="transformers.models.qwen2_vl.image_processing_qwen2_vl_fast",
        qualname=", ".join((f"Qwen2VLImageProcessorFast.{qualname}", *fixes)),
    )
    result = run(
        "tests.fixes.models.qwen.positions:applied_and_reverted", transformers="4.50.1", hotfix=False, flash_attn=None,
        extras=[TORCHVISION], target=target,
    ).require()  # fmt: skip
    names = ("each changes it", "the others stay", "nothing stays", "it stands where it stood")
    assert {name: bool(value) for name, value in result.tensors.items()} == dict.fromkeys(names, True)


@pytest.mark.parametrize(
    ("release", "kinds", "case"),
    [
        ("4.50.1", "slow, fast", "calls_with_all_fixes"),
        pytest.param("4.49.0", "slow, fast", "calls_with_one_fix", marks=pytest.mark.slow),
        pytest.param("4.50.1", "slow, fast", "calls_with_one_fix", marks=pytest.mark.slow),
        pytest.param("4.47.1", "slow", "calls_with_one_fix", marks=pytest.mark.slow),
    ],
)
def test_a_limit_in_a_call_of_a_processor_works_as_upstream(release, kinds, case):
    right, _ = before_and_after(case, "4.50.2", kinds)
    stock, repaired = before_and_after(case, release, kinds)
    models = {name.partition(":")[0] for name in repaired}
    assert len(models) == (1 if release == "4.47.1" else 2) * len(kinds.split(", "))
    for model in models:
        tokens = repaired[f"{model}: default, input_ids"]
        assert stock[f"{model}: largest, input_ids"].equal(tokens)
        assert stock[f"{model}: largest, warned"]
        assert repaired[f"{model}: largest, input_ids"].numel() < tokens.numel()
        assert repaired[f"{model}: largest, processor as it was"]
        # Somebody else's image processor does not take the limit: it is ignored, with the warning, as before.
        assert repaired[f"{model}: to somebody's, input_ids"].equal(tokens)
        assert repaired[f"{model}: to somebody's, warned"]
    left_alone = {"to somebody's", "none, warned"}  # a limit of None is left to the release
    if release in ("4.47.1", "4.49.0"):
        left_alone.add("alone,")  # images without texts are not for this one fix
    if (release, case) == ("4.50.1", "calls_with_one_fix"):
        left_alone.add("nested,")  # they come through in this release, and stay: qwen2vl-image-size-mutation
    own = {name for name in repaired if not any(part in name for part in left_alone)}
    assert own <= right.keys()
    assert {name for name in own if not repaired[name].equal(right[name])} == set()


@pytest.mark.parametrize(
    ("release", "kind"),
    [
        ("4.50.1", "fast"),
        pytest.param("4.50.1", "slow", marks=pytest.mark.slow),
        pytest.param("4.53.3", "fast", marks=pytest.mark.slow),
        pytest.param("4.57.6", "slow", marks=pytest.mark.slow),
        pytest.param("5.3.0", "slow", marks=pytest.mark.slow),
    ],
)
def test_files_saved_by_4_48_load_with_all_fixes_at_once(release, kind):
    target = next(candidate for candidate in SAVED.targets if ("fast" in candidate.module) is (kind == "fast"))
    case = "hotfix.proofs.processing.qwen2vl_saved_size_pixels:case"
    tensors = run(case, transformers=release, flash_attn=None, extras=[TORCHVISION], target=target).require().tensors
    for name in ("limits", "patches"):
        assert tensors[f"4.48: {name}"].equal(tensors[f"4.50: {name}"])
    assert tensors["4.48: limits"].tolist() == [*SMALL.values()]
