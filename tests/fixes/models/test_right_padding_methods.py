"""An edited method stays what it was: its frames, signature, subclasses, compilation; and it can be taken back."""

from __future__ import annotations

import json
from functools import cache

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

QWEN2 = "transformers.models.qwen2.modeling_qwen2:Qwen2Model._update_causal_mask"
MISTRAL = "transformers.models.mistral.modeling_mistral:MistralModel.forward"
JETMOE = "transformers.models.jetmoe.modeling_jetmoe:JetMoeModel.forward"
# Plain, decorated with documentation, and wrapped by a decorator of its own.
METHODS = [("4.49.0", QWEN2), ("4.41.2", MISTRAL), ("4.56.1", JETMOE)]
SOME = [METHODS[0], METHODS[1], pytest.param(*METHODS[2], marks=pytest.mark.slow)]


@cache
def shown_by(case, release, *keys, hotfix=True):
    environment = {"CASE_TARGETS": " ".join(keys)}
    result = run(
        f"tests.fixes.models.padding.methods:{case}", transformers=release, hotfix=hotfix, env=environment
    ).require()
    return (json.loads(result.stdout.splitlines()[-1]) if result.stdout else None), result.tensors


def looks(what, release, key):
    """The same look at a method without hotfix, and with it."""
    return [shown_by("looks", release, key, hotfix=hotfix)[0][what] for hotfix in (False, True)]


@pytest.mark.parametrize(("release", "key"), SOME)
def test_an_error_raised_inside_shows_the_same_file_and_lines(release, key):
    before, after = looks("errors_inside", release, key)
    assert before == after
    module, method = key.split(":")
    frames = [frame for frame in after[key] if frame[2] == method.split(".")[1] and module.split(".")[-1] in frame[0]]
    assert frames[-1][0].endswith(module.replace(".", "/") + ".py")
    assert "_mask" in frames[-1][3]  # the statement that the error comes through


@pytest.mark.parametrize(("release", "key"), SOME)
def test_signature_names_closure_decorators_and_source_stay(release, key):
    before, after = looks("describe", release, key)
    assert before == after


@pytest.mark.parametrize(("release", "key"), METHODS[:2])  # JetMoe cannot checkpoint
def test_gradient_checkpointing_gives_the_same_gradients(release, key):
    _, tensors = shown_by("looks", release, key)
    plain = {name.split(" ", 2)[2]: value for name, value in tensors.items() if " plain " in name}
    assert len(plain) >= 6
    for name, value in plain.items():
        assert torch.equal(value, tensors[f"{key} checkpointed {name}"]), name


@pytest.mark.parametrize(("release", "key"), SOME)
def test_a_forward_waits_for_the_device_no_more_often(release, key):
    before, after = looks("synchronisations", release, key)
    assert after[key] == before[key]


def test_compiled_equals_eager_mode():
    _, tensors = shown_by("compiled", "4.52.4", QWEN2)
    assert torch.equal(tensors[f"{QWEN2} compiled"], tensors[f"{QWEN2} eager mode"])


def test_an_override_in_a_subclass_is_respected():
    shown, _ = shown_by("subclasses", "4.49.0")
    ran, forward, generating = shown["Own"]
    assert (ran, forward, generating) == (["own"], None, None)
    ran, forward, generating = shown["Calling"]
    assert (ran, forward) == (["calling"], None)
    assert "padding_side='right'" in generating
    ran, forward, generating = shown["Qwen2Model"]
    assert (ran, forward) == ([], None)
    assert "padding_side='right'" in generating


def test_revert_in_the_middle_of_a_program_brings_the_check_back():
    shown, _ = shown_by("reverted", "4.49.0", QWEN2)
    forward, generating, is_stock = shown["after"]
    for error in forward, generating, shown["held"]:
        assert "unexpected behaviour for Flash Attention version of Qwen2" in error
        assert "fa2-right-padding-check" not in error
    assert is_stock
    forward, generating, is_stock = shown["again"]
    assert forward is None
    assert "fa2-right-padding-check" in generating
    assert not is_stock


@pytest.mark.parametrize(
    "release", ["4.44.2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("4.53.3", "5.23.0"))]
)
def test_functions_that_never_had_the_check_are_untouched_by_identity(release):
    """Qwen2 from 4.42.0 to 4.48.3, and both here from 4.53.0 on; Mistral in 4.44.2 is broken, and alone changed."""
    mistral = "transformers.models.mistral.modeling_mistral:MistralModel._update_causal_mask"
    shown, _ = shown_by(
        "untouched", release, QWEN2, QWEN2.replace("_update_causal_mask", "forward"), mistral, hotfix=False
    )
    broken = {mistral} if release == "4.44.2" else set()
    assert set(shown["changed"]) == broken
    assert set(shown["applied"]) == broken
    assert shown["left_behind"] == []
