"""Labels as people have them, the first one of each text among them: how many are counted, and divided by."""

from __future__ import annotations

import textwrap
from functools import cache
from types import SimpleNamespace

import pytest

from tools.testbed.run import run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

CASES = "tests.fixes.training.trainer.cases"
RELEASES = ("4.46.1", "4.46.3", "4.47.0", "4.48.0", "4.52.4", "5.4.0", "5.9.0")
EVERY = [
    pytest.param(release, marks=() if release in ("4.47.0", "4.52.4", "5.9.0") else pytest.mark.slow)
    for release in RELEASES
]


@cache
def ran(release, hotfix=True):
    return run(
        f"{CASES}:whole_texts_both_ways", transformers=release, flash_attn=None, extras=["accelerate==1.15.0"],
        hotfix=hotfix,
    ).require()  # fmt: skip


@pytest.mark.parametrize("release", EVERY)
def test_micro_batches_of_whole_texts_equal_one_batch(release):
    tensors = ran(release).tensors
    accumulated = [name for name in tensors if ": accumulated " in name]
    assert len(accumulated) > 40
    for name in accumulated:
        parts, other = tensors[name], tensors[name.replace(": accumulated ", ": whole batch ")]
        largest = max(other.abs().max().item(), 1e-2)
        assert (parts - other).abs().max().item() <= 1e-5 * largest, name


def test_the_loss_is_the_mean_over_predicted_labels():
    # 23 tokens in four texts: 19 of them are predicted. Before, the first ones are counted as well.
    before, after = (ran("4.52.4", hotfix).tensors["right: whole batch loss"].item() for hotfix in (False, True))
    assert before / after == pytest.approx(19 / 23, rel=1e-5)


def test_where_the_first_label_is_masked_nothing_changes():
    before, after = (ran("4.52.4", hotfix).tensors for hotfix in (False, True))
    names = [name for name in before if name.startswith("left: ")]
    assert len(names) > 40
    assert [name for name in names if not before[name].equal(after[name])] == []


@pytest.mark.parametrize(
    ("model", "batch", "expected"),
    [
        ("LlamaForCausalLM", {}, 8),
        ("GPT2LMHeadModel", {}, 8),
        ("LlavaForConditionalGeneration", {}, 8),
        ("LlamaForCausalLM", {"shift_labels": torch.zeros(2, 3)}, 6),
        ("BertForMaskedLM", {}, 10),
        ("LlamaForTokenClassification", {}, 10),
        ("T5ForConditionalGeneration", {}, 10),
        ("Linear", {}, 10),
    ],
)
def test_the_count_of_labels_is_that_of_the_loss(monkeypatch, model, batch, expected):
    from hotfix.training import num_items_off_by_one

    library = library_with(model)
    causal, other = library["causal"], library["other"]
    mapping = {"ForConditionalGeneration": causal, "ForCausalLM": causal, "ForMaskedLM": other, "ForToken": other}
    losses = SimpleNamespace(LOSS_MAPPING=mapping, ForCausalLMLoss=causal)
    names = SimpleNamespace(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES={"gpt2": "GPT2LMHeadModel"})
    monkeypatch.setitem(num_items_off_by_one.sys.modules, "transformers.loss.loss_utils", losses)
    monkeypatch.setitem(num_items_off_by_one.sys.modules, "transformers.models.auto.modeling_auto", names)
    some = library[model]()
    if model != "Linear":  # a net of one's own has no configuration
        some.config = SimpleNamespace(is_encoder_decoder=model.startswith("T5"))
    trainer = SimpleNamespace(
        model=some, compute_loss_func=None, accelerator=SimpleNamespace(unwrap_model=lambda model: model)
    )
    labels = num_items_off_by_one.counted(trainer, {"labels": torch.zeros(2, 5), **batch})
    assert labels.numel() == expected


def library_with(model):
    """Two losses and a model, defined in a file of the library's."""
    namespace = {"__name__": "transformers.modeling", "__file__": "modeling.py"}
    source = f"""
        def causal(logits, labels, shift_labels=None): ...
        def other(logits, labels): ...
        class {model}:
            loss_function = staticmethod(other)
            def forward(self, labels=None): ...
    """
    exec(compile(textwrap.dedent(source), "modeling.py", "exec"), namespace)
    return namespace
