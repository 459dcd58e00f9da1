"""flash-rotary-dtype on real releases with the real flash-attn: broken before, right after, gone where not needed."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from hotfix.models.flash_rotary_dtype import FIX
from tools.testbed.run import Result, run

pytestmark = pytest.mark.testbed

CASE = "hotfix.proofs.models.flash_rotary_dtype:case"
VL, OMNI = FIX.targets
ASSERTION = "Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16"


@cache
def ran(number: int, release: str, flash_attn: str = "2.7.4.post1", hotfix: bool = True) -> Result:
    return run(CASE, transformers=release, flash_attn=flash_attn, hotfix=hotfix, target=FIX.targets[number])


def outcome(result: Result, number: int) -> tuple[Any, Any]:
    assert result.report is not None
    [row] = [row for row in result.report["outcomes"] if row["target"] == str(FIX.targets[number])]
    return row["verdict"], row["state"]


@pytest.mark.parametrize(("number", "release"), [(0, "4.49.0"), (1, "4.52.4")])
def test_without_hotfix_the_real_kernel_refuses(number: int, release: str) -> None:
    result = ran(number, release, hotfix=False)
    assert result.error is not None
    assert result.error[:2] == ("AssertionError", ASSERTION)


@pytest.mark.parametrize(
    ("number", "release", "oracle"),
    [
        (0, "4.49.0", ("4.50.0", "2.7.4.post1")),
        (0, "4.49.0", ("4.51.3", "2.7.4.post1")),
        (1, "4.52.4", ("4.53.1", "2.7.4.post1")),
        (1, "4.52.4", ("4.52.4", "2.8.3.post2")),
    ],
)
def test_one_training_step_is_bitwise_that_of_the_fixed_release(
    number: int, release: str, oracle: tuple[str, str]
) -> None:
    repaired, fixed = ran(number, release).require(), ran(number, *oracle).require()
    assert outcome(repaired, number) == ("broken", "applied")
    assert repaired.tensors.keys() == fixed.tensors.keys()
    assert len(repaired.tensors) > 30
    different = [name for name, tensor in repaired.tensors.items() if not tensor.equal(fixed.tensors[name])]
    assert different == []
    assert repaired.flash_calls["flash_attn_varlen_func backward"] == 2
    assert repaired.flash_calls["apply_rotary_emb"] == 8


@pytest.mark.parametrize(("number", "release"), [(0, "4.49.0"), (1, "4.52.4")])
def test_with_a_flash_attn_that_takes_the_mixture_nothing_is_touched(number: int, release: str) -> None:
    result = ran(number, release, "2.8.3.post2").require()
    assert outcome(result, number) == ("unaffected", "skipped")


PROBE = "tests.fixes.models.rotary_probes"


@pytest.mark.parametrize(
    ("release", "verdicts"),
    [
        ("4.50.0", ("fixed", "absent")),
        ("4.51.3", ("fixed", "absent")),
        ("4.57.6", ("absent", "absent")),
        ("5.23.0", ("absent", "absent")),
    ],
)
def test_a_release_that_needs_nothing_is_left_exactly_as_it_is(release: str, verdicts: tuple[str, str]) -> None:
    result = run(f"{PROBE}:code_files", transformers=release, env={"HOTFIX_ONLY": FIX.id}).require()
    assert [outcome(result, number) for number in (0, 1)] == [(verdict, "skipped") for verdict in verdicts]
    assert result.tensors["functions of hotfix in the module"].item() == 0


def test_the_repaired_function_is_an_ordinary_function() -> None:
    """torch.compile, pickle, deepcopy, signature, getsource, a model built before, and the way back: see the probe."""
    result = run(f"{PROBE}:an_ordinary_function", transformers="4.49.0", hotfix=False).require()
    names = (
        "broken before",
        "a model that was built before works",
        "late is said",
        "a copy in a third module is repaired",
        "a function compiled before gives the repaired result",
        "a function compiled after does",
        "pickle",
        "signature",
        "getsource gives the release's text",
        "revert restores the object",
        "revert restores the meta path",
    )
    assert {name: bool(value) for name, value in result.tensors.items()} == dict.fromkeys(names, True)
