"""Triggers: the calls that they test, invalid declarations, and the fixes that they belong to."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

import pytest

from hotfix import trigger
from hotfix.engine.catalogue import INDEX
from hotfix.trigger import Call, Trigger
from hotfix.triggers.models import _attention, fa_sliding_window_off_by_one
from hotfix.triggers.training import (
    deepspeed_double_gas_scaling,
    trainer_ga_multiplied_loss,
    trainer_ga_num_items_dropped,
)

STEP = "transformers.trainer:Trainer.training_step"
FIXES = json.loads(INDEX.read_text(encoding="utf-8"))["fixes"]


def trainer(steps=1, accepts=False, loss_function=None, later=1, kind="NO", average=False, model_type="llama"):
    return SimpleNamespace(
        args=SimpleNamespace(gradient_accumulation_steps=steps, average_tokens_across_devices=average),
        model_accepts_loss_kwargs=accepts,
        compute_loss_func=loss_function,
        accelerator=SimpleNamespace(gradient_accumulation_steps=later, distributed_type=kind),
        model=SimpleNamespace(config=SimpleNamespace(model_type=model_type)),
    )


def step(owner, number=None):
    return Call(STEP, ("self", "model", "inputs", "num_items_in_batch"), (owner, None, {}, number), owner)


def test_a_call_knows_its_arguments_by_name_those_in_kwargs_too():
    call = Call("m:f", ("x", "args", "rest"), (1, (2,), {"y": 3}), None, extra="rest")
    assert (call["x"], call["args"], call["y"], call.get("z", 4)) == (1, (2,), 3, 4)
    assert list(call) == ["x", "args", "y"]
    assert "y" in call
    assert "z" not in call
    with pytest.raises(KeyError, match="z"):
        call["z"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({}, "why_not="),
        ({"when": "w", "wrong": "x", "why_not": "y"}, "why_not="),
        ({"when": "w"}, "wrong="),
        ({"when": "w", "wrong": "x", "every": 0}, "every=0"),
    ],
)
def test_a_trigger_that_says_too_little_or_too_much_is_refused(arguments, what):
    with pytest.raises(ValueError, match=what):
        Trigger("some-fix", **arguments)


def test_a_function_has_one_condition_and_all_targets_may_share_one():
    plain = Trigger("some-fix", when="w", wrong="x")
    first = plain.strikes("m:f")(lambda call: True)
    others = plain.strikes()(lambda call: False)
    assert (plain.condition("m:f"), plain.condition("m:g"), plain.places) == (first, others, ("m:f",))
    with pytest.raises(ValueError, match="two conditions for m:f"):
        plain.strikes("m:f")(lambda call: True)


def test_every_module_of_the_tree_is_the_trigger_of_the_fix_of_that_name():
    from pkgutil import walk_packages

    import hotfix.triggers

    names = [
        package.name for package in walk_packages(hotfix.triggers.__path__, f"{trigger.HOME}.") if not package.ispkg
    ]
    homes = {entry["module"].replace("hotfix.", f"{trigger.HOME}.", 1): id for id, entry in FIXES.items()}
    own = [name for name in names if not name.rpartition(".")[2].startswith("_")]
    assert own
    assert [name for name in own if name not in homes] == []
    for name in own:
        loaded = trigger.load(homes[name], FIXES[homes[name]]["module"])
        assert loaded is not None
        assert loaded.fix == homes[name]


def test_a_fix_without_a_trigger_has_none_and_another_ones_is_refused(tmp_path, monkeypatch):
    assert trigger.load("adamw-removed", "hotfix.names.adamw_removed") is None
    (tmp_path / "planted_fix.py").write_text(
        "from hotfix.trigger import Trigger\nTRIGGER = Trigger('mine', why_not='Who knows.')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    loaded = trigger.load("plugin:mine", "planted_fix")
    assert loaded is not None
    assert loaded.why_not == "Who knows."
    with pytest.raises(TypeError, match="plugin:another"):
        trigger.load("plugin:another", "planted_fix")


def test_micro_batches_of_a_model_without_loss_arguments_strike():
    strikes = trainer_ga_multiplied_loss.accumulates
    assert strikes(step(trainer(steps=4), number=8))
    assert not strikes(step(trainer(steps=1), number=8))
    assert not strikes(step(trainer(steps=4, accepts=True), number=8))
    assert not strikes(step(trainer(steps=4, later=4)))
    assert strikes(step(trainer(steps=4, kind="DEEPSPEED"), number=8))  # the report


def test_a_number_that_is_kept_back_strikes_where_the_result_depends_on_it():
    strikes = trainer_ga_num_items_dropped.keeps_the_number
    assert strikes(step(trainer(steps=4, accepts=True), number=8))
    assert not strikes(step(trainer(steps=4, accepts=True)))
    assert not strikes(step(trainer(steps=1, accepts=True), number=8))
    assert not strikes(step(trainer(steps=4), number=8))
    assert not strikes(step(trainer(steps=4, accepts=True, kind="DEEPSPEED"), number=8))
    assert not strikes(step(trainer(steps=4, accepts=True, model_type="vision-encoder-decoder"), number=8))


@pytest.mark.parametrize(
    ("release", "takes", "number", "strikes"),
    [
        ("4.47.1", True, 8, True),
        ("4.47.1", False, 8, False),
        ("4.48.0", True, 8, False),
        ("4.48.0", True, None, True),
        ("4.48.3", False, 8, True),
    ],
)
def test_the_engine_of_deepspeed_divides_once_more(release, takes, number, strikes, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(__version__=release))
    condition = deepspeed_double_gas_scaling.scales_again
    assert condition(step(trainer(steps=4, accepts=takes, kind="DEEPSPEED"), number=number)) is strikes
    assert not condition(step(trainer(steps=1, accepts=takes, kind="DEEPSPEED"), number=number))
    assert not condition(step(trainer(steps=4, accepts=takes), number=number))


FORWARD = "transformers.modeling_flash_attention_utils:_flash_attention_forward"
IN_4_55 = "transformers.modeling_flash_attention_utils:_process_flash_attention_kwargs"


def attention(torch, rows=1, tokens=6, **given):
    states = torch.zeros(rows, tokens, 1, 8)
    given = {"query_states": states, "key_states": states, "sliding_window": 4, **given}
    return Call(FORWARD, tuple(given), tuple(given.values()), None)


def test_a_window_counts_the_tokens_of_a_row_and_not_its_padding(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(__version__="4.53.0"))
    condition = fa_sliding_window_off_by_one.TRIGGER.conditions[FORWARD]
    short, long = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0]]), torch.ones(2, 6)
    long[0, 0] = 0
    assert condition(attention(torch)) is True
    assert condition(attention(torch, tokens=4)) is False
    assert condition(attention(torch, sliding_window=None)) is False
    assert not condition(attention(torch, 2, attention_mask=short))
    assert condition(attention(torch, 2, attention_mask=long))
    packed, whole = torch.tensor([[0, 1, 2, 0, 1, 2]]), torch.arange(6)[None]
    assert not condition(attention(torch, position_ids=packed))
    assert condition(attention(torch, position_ids=whole))
    # The first of these has one token, which this release does not count as a sequence.
    assert condition(attention(torch, tokens=5, position_ids=torch.tensor([[0, 0, 1, 2, 3]])))
    assert condition(attention(torch, position_ids=packed, max_length_k=3)) is False
    assert condition(attention(torch, position_ids=packed, max_length_k=5)) is True
    given = {"key_length": 6, "sliding_window": 4}
    call = Call(IN_4_55, tuple(given), tuple(given.values()), None)
    assert fa_sliding_window_off_by_one.TRIGGER.conditions[IN_4_55](call) is True  # it has no mask


def test_facts_about_a_mask_are_computed_once_for_all_layers():
    torch = pytest.importorskip("torch")
    mask = torch.tensor([[0, 1, 1, 1, 1]])
    first = _attention.is_longer_than(3, mask)
    assert _attention.is_longer_than(3, mask) is first
    assert not _attention.is_longer_than(4, mask)
    assert _attention.is_longer_than(3, mask)
    mask[0, 1:3] = 0
    assert not _attention.is_longer_than(3, mask)
    with torch.inference_mode():
        mask = torch.ones(1, 5)
        assert _attention.is_longer_than(3, mask)
        mask[0, :3] = 0
        assert not _attention.is_longer_than(3, mask)
