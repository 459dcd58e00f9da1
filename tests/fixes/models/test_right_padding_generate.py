"""`generate` keeps refusing right-padded batches where the release did, and nothing else that generates is stopped."""

from __future__ import annotations

import json
import sys
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from hotfix.models.fa2_right_padding_check import FIX
from hotfix.proofs.models.fa2_right_padding_check import LENGTHS
from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

TABLES = {
    "4.40.2": "transformers.models.qwen2.modeling_qwen2:Qwen2Model.forward",
    "4.48.3": "transformers.models.mistral.modeling_mistral:MistralModel._update_causal_mask",
    "4.49.0": "transformers.models.qwen2.modeling_qwen2:Qwen2Model._update_causal_mask",
    "4.52.4": "transformers.models.qwen2.modeling_qwen2:Qwen2Model._update_causal_mask",
    "4.57.6": "transformers.models.qwen2_moe.modeling_qwen2_moe:Qwen2MoeModel._update_causal_mask",
}
RELEASES = [
    pytest.param(release, marks=pytest.mark.slow if release in ("4.48.3", "4.52.4") else ()) for release in TABLES
]
# The release accepts these, although it generates from padding as well; and another attention.
LET_THROUGH = {"right, without cache", "right, eager"}


@cache
def table(release, hotfix):
    environment = {"CASE_TARGETS": TABLES[release]}
    result = run(
        "tests.fixes.models.padding.generation:truth_table", transformers=release, hotfix=hotfix, env=environment
    )
    return json.loads(result.require().stdout.splitlines()[-1]), result


@pytest.mark.parametrize("release", RELEASES)
def test_generate_with_right_padding_still_raises_and_names_the_remedy(release):
    errors, _ = table(release, True)
    refused = {way: error for way, error in errors.items() if way.startswith("right") and way not in LET_THROUGH}
    assert len(refused) == 7
    for way, error in refused.items():
        assert error is not None, way
        name, message, _ = error
        assert name == "ValueError"
        for words in ("padding_side='right'", "tokenizer.padding_side = 'left'", FIX.id, "HOTFIX_PADDING=warn"):
            assert words in message


@pytest.mark.parametrize("release", RELEASES)
def test_generate_accepts_left_padding_and_other_attentions(release):
    errors, _ = table(release, True)
    passed = {way: error for way, error in errors.items() if not way.startswith("right") or way in LET_THROUGH}
    assert len(passed) == 12
    assert {way: error for way, error in passed.items() if error} == {}


@pytest.mark.parametrize("release", RELEASES)
def test_generate_with_left_padding_equals_one_by_one_decoding(release):
    _, result = table(release, True)
    for way in "left, greedy", "left, no mask", "left, without cache":
        for row in range(len(LENGTHS)):
            alone = result.tensors[f"alone {row}"][0]
            assert torch.equal(result.tensors[way][row, max(LENGTHS) :], alone), (way, row)


@pytest.mark.parametrize(
    "release", [version if version == "4.49.0" else pytest.param(version, marks=pytest.mark.slow) for version in TABLES]
)
def test_generate_refuses_the_same_batches_as_the_release(release):
    stock, hotfix = (
        {way for way, error in table(release, armed)[0].items() if error is not None} for armed in (False, True)
    )
    assert hotfix - stock == set()
    assert stock - hotfix == {"by hand"}


@pytest.mark.parametrize("release", RELEASES)
def test_decoding_by_hand_from_a_right_padded_prefill_is_exact(release):
    errors, result = table(release, True)
    assert errors["by hand"] is None
    alone = torch.cat([result.tensors[f"alone {row}"] for row in range(len(LENGTHS))])
    assert torch.equal(result.tensors["by hand"], alone)
    assert len(set(alone.flatten().tolist())) > 4


def test_one_warning_instead_of_the_error_on_request():
    environment = {"CASE_TARGETS": TABLES["4.49.0"], "HOTFIX_PADDING": "warn"}
    result = run("tests.fixes.models.padding.generation:twice", env=environment).require()
    assert set(result.tensors) == {"first", "second"}
    said = [line for line in result.stderr.splitlines() if "padding_side='right'" in line]
    assert len(said) == 1
    assert FIX.id in said[0]


def test_a_switch_that_cannot_be_read_changes_nothing():
    environment = {"CASE_TARGETS": TABLES["4.49.0"], "HOTFIX_PADDING": "maybe"}
    result = run("tests.fixes.models.padding.generation:twice", env=environment)
    assert "HOTFIX_PADDING=maybe" in result.stderr
    assert result.error is not None
    assert "unexpected behaviour for Flash Attention version of Qwen2" in result.error[1]  # the release's own


def test_a_generating_encoder_decoder_is_not_refused_and_another_models_forward_is_not(monkeypatch):
    from hotfix.models import fa2_right_padding_check as fix

    any_module: Any = torch.nn.Module

    class Generating(any_module):
        """A model whose `generate` is of this file, in place of the library's."""

        def __init__(self, is_encoder_decoder):
            super().__init__()
            self.decoder = torch.nn.Linear(1, 1)
            self.config = SimpleNamespace(is_encoder_decoder=is_encoder_decoder)

        def generate(self, decoder):
            return self.forward(decoder)

        def forward(self, decoder):
            fix.refuse_in_generation(decoder, "refused")

    monkeypatch.setitem(sys.modules, "transformers.generation.utils", SimpleNamespace(__file__=__file__))
    model, other = Generating(is_encoder_decoder=False), Generating(is_encoder_decoder=True)
    model.generate(other.decoder)
    other.generate(other.decoder)
    with pytest.raises(ValueError, match=FIX.id):
        model.generate(model.decoder)
