"""The right-padding check is gone from every forward, on every release that has it, and nothing else is changed.

Where two attentions are compared, the numbers are bfloat16 with a spacing of 2^-8 (0.4 %), rounded some ten times on
the way through two layers: 0.6 to 1.2 % in the outputs and up to 3 % in the gradients were measured, relative to the
norm; the bounds are 2 % and 5 %. Everything else is compared bit by bit.
"""

from __future__ import annotations

import ast
import json
from functools import cache

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from hotfix.engine.catalogue import INDEX
from hotfix.models.fa2_right_padding_check import FIX, TABLE
from hotfix.patching import code
from tools.testbed.run import run

torch = pytest.importorskip("torch")

EXAMINED = [Version(transformer) for transformer in json.loads(INDEX.read_text())["examined"]["transformers"]]
CASES = "tests.fixes.models.padding.cases:every_target"
QWEN2 = "transformers.models.qwen2.modeling_qwen2:Qwen2Model._update_causal_mask"
OUTPUTS, GRADIENTS = 2e-2, 5e-2


@cache
def releases(specifier):
    """The examined ones among them."""
    return list(SpecifierSet(specifier).filter(EXAMINED))


def broken_releases(target):
    return releases(target.releases)


def by_release(version_of):
    results: dict[str, list[str]] = {}
    for target in FIX.targets:
        for version in version_of(target):
            results.setdefault(str(version), []).append(target.key)
    return dict(sorted(results.items(), key=lambda item: Version(item[0])))


def first_fixed(target):
    """The first release after the last broken one in which no other method of the class's module has the check."""
    others = [other for other in FIX.targets if other.module == target.module]
    after = [version for version in EXAMINED if version > broken_releases(target)[-1]]
    return next(release for release in after if not any(release in broken_releases(other) for other in others))


ENDS = by_release(lambda target: {broken_releases(target)[0], broken_releases(target)[-1]})
FIXED = by_release(lambda target: [first_fixed(target)])
# 5.0.0 lays mixtures of experts out anew, and converts checkpoints of Qwen2-MoE when it loads them. Those of PhiMoE it
# does not: it makes up their experts and router, and its layer norms have no bias. No release after the last broken one
# computes the same model, and eager attention is the only reference.
CONVERTED = "5.0.0"


def some(releases, *representative):
    """Parameters: the representative releases, and the others in the full run."""
    return [pytest.param(release, marks=() if release in representative else pytest.mark.slow) for release in releases]


# Those that repeat keys and values before the kernel in their last broken release and not in the first fixed one.
REGROUPED = ("qwen2_vl", "qwen2_5", "MistralModel.forward")
RELEASES = some(ENDS, "4.36.0", "4.41.2", "4.49.0", "4.52.4")


@cache
def child(release, hotfix, ways, keys, checkpoints=""):
    """Tensors by (target, way, name) and errors by (target, way)."""
    environment = {"CASE_TARGETS": " ".join(keys), "CASE_WAYS": ways, "CASE_CHECKPOINTS": checkpoints}
    result = run(CASES, transformers=release, hotfix=hotfix, env=environment).require()
    raised = json.loads(result.stdout.splitlines()[-1])
    tensors = {tuple(name.split(" ", 2)): value for name, value in result.tensors.items()}
    return tensors, {tuple(name.split(" ")): error for name, error in raised.items()}, result


def patched(release):
    return child(release, True, "flash eager", tuple(ENDS[release]))


def of(tensors, key, way):
    return {name: value for (owner, how, name), value in tensors.items() if (owner, how) == (key, way)}


def relative(got, expected):
    difference, norm = (got.float() - expected.float()).norm(), expected.float().norm()
    return (difference / norm).item() if norm else difference.item()


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_table_matches_the_counts():
    assert len(TABLE) == len(FIX.targets) == 27
    inline = [target for target in FIX.targets if target.qualname.endswith(".forward")]
    counts = [sum(len(broken_releases(target)) for target in targets) for targets in (FIX.targets, inline)]
    assert counts == [482, 127]


CHECKED = """
def f(self, attention_mask, batch_size, use_cache):
    before()
    if attention_mask is not None and use_cache:
        is_padding_right = attention_mask[:, -1].sum().item() != batch_size
        if is_padding_right:
            raise ValueError("so padding_side='right' it is")
    after()
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("attention_mask[:, -1]", "attention_mask[:, 0]"),
        ("is_padding_right", "is_padding_left"),
        ("    after()", "    else:\n        other()\n    after()"),
        ("raise ValueError(", "warn("),
        ("        if is_padding_right:", "        other()\n        if is_padding_right:"),
        ("        is_padding_right =", "        other()\n        is_padding_right ="),
    ],
)
def test_only_the_very_check_is_recognised(old, new):
    broken, other = ast.parse(CHECKED).body[0], ast.parse(CHECKED.replace(old, new)).body[0]
    assert FIX.is_broken(broken)
    assert old in CHECKED
    assert not FIX.is_broken(other)


def test_the_edit_takes_out_the_check_and_nothing_else():
    edited = ast.unparse(code.edited_tree(ast.parse(CHECKED), FIX.targets[0]))
    assert edited.split("\n", 1)[1].split() == ["before()", "pass", "after()"]


# -- every target, at both ends of its range ---------------------------------------------------------------------------


@pytest.mark.testbed
@pytest.mark.parametrize("release", RELEASES)
def test_a_right_padded_forward_raises_before(release):
    _, raised, _ = child(release, False, "flash without_cache", tuple(ENDS[release]))
    assert set(raised) == {(key, "flash") for key in ENDS[release]}
    for name, message, _ in raised.values():
        assert name == "ValueError"
        assert "padding_side='right'" in message


@pytest.mark.testbed
@pytest.mark.parametrize("release", RELEASES)
def test_after_it_is_bitwise_the_result_without_a_cache(release):
    after, raised, result = patched(release)
    stock, _, _ = child(release, False, "flash without_cache", tuple(ENDS[release]))
    assert not raised
    applied = {outcome["target"] for outcome in result.report["outcomes"] if outcome["state"] == "applied"}
    assert applied >= set(ENDS[release])
    for key in ENDS[release]:
        expected, got = of(stock, key, "without_cache"), of(after, key, "flash")
        assert len(got) >= 6
        assert set(got) == set(expected)
        assert [name for name in got if not torch.equal(got[name], expected[name])] == []


@pytest.mark.testbed
@pytest.mark.parametrize("release", RELEASES)
def test_after_it_equals_eager_attention_one_sample_at_a_time(release):
    after, _, _ = patched(release)
    for key in ENDS[release]:
        expected, got = of(after, key, "eager"), of(after, key, "flash")
        assert relative(got.pop("outputs"), expected["outputs"]) < OUTPUTS, key
        assert abs(got.pop("loss").item() / expected["loss"].item() - 1) < 2**-8, key
        assert {name: error for name in got if (error := relative(got[name], expected[name])) > GRADIENTS} == {}, key


@pytest.mark.testbed
@pytest.mark.parametrize("release", ["4.49.0"])
def test_padding_on_the_left_and_on_both_sides_is_exact_too(release):
    after, raised, _ = child(release, True, "elsewhere", (QWEN2,))
    assert not raised
    expected = of(patched(release)[0], QWEN2, "eager")["outputs"]
    for side in "left", "both":
        assert relative(of(after, QWEN2, "elsewhere")[side], expected) < OUTPUTS


@pytest.mark.testbed
@pytest.mark.parametrize("release", some([version for version in FIXED if version != CONVERTED], "4.53.0"))
def test_after_it_equals_the_first_fixed_release_bit_by_bit(release):
    """But for the gradients of grouped keys and values where 4.53.0 leaves the adding up to the kernel."""
    fixed, raised, _ = child(release, False, "flash", tuple(FIXED[release]))
    assert not raised
    for key in FIXED[release]:
        (target,) = (candidate for candidate in FIX.targets if candidate.key == key)
        after, _, _ = patched(str(broken_releases(target)[-1]))
        expected, got = of(fixed, key, "flash"), of(after, key, "flash")
        assert len(got) >= 6
        assert set(got) == set(expected)
        different = {name for name in got if not torch.equal(got[name], expected[name])}
        if any(part in key for part in REGROUPED):
            assert not different & {"outputs", "loss"}
            assert all(relative(got[name], expected[name]) < 2**-6 for name in different)
        else:
            assert not different, key


@pytest.mark.testbed
@pytest.mark.slow
def test_after_it_equals_the_first_fixed_release_where_that_converts_the_weights(tmp_path):
    keys = tuple(key for key in FIXED[CONVERTED] if "phimoe" not in key)
    assert len(keys) == 1
    before, raised, _ = child("4.57.6", True, "saved flash", keys, str(tmp_path))
    after, raised_after, _ = child(CONVERTED, False, "loaded", keys, str(tmp_path))
    assert raised == raised_after == {}
    for key in keys:
        got, expected = of(before, key, "flash"), of(after, key, "loaded")
        assert relative(got["outputs"], expected["outputs"]) < OUTPUTS
        common = {name for name in got if name in expected and got[name].shape == expected[name].shape}
        assert len(common) >= 6
        for name in common:
            assert relative(got[name], expected[name]) < GRADIENTS, name
