"""Caches, classes and Trainers of older code: refusals, unchanged results, and a clean revert.

That they give what they gave is what the cases prove.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hotfix.training import _old_overrides as calls
from tools.testbed.run import run_script

pytest.importorskip("torch")

CACHES = """
import hotfix.auto, torch
from transformers import DynamicCache, MistralConfig, PreTrainedModel, PretrainedConfig
from transformers.cache_utils import EncoderDecoderCache

def refuses(kind, words, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{function} did not refuse")

states = torch.zeros(1, 2, 3, 4)
config = MistralConfig(num_hidden_layers=1, sliding_window=4)
cache = DynamicCache(config=config)
assert len(cache.key_cache) == 0 and cache.seen_tokens == 0 and cache.to_legacy_cache() == ()
cache.update(states, states, 0)
assert cache.get_usable_length(1) == 3 and len(cache.key_cache) == 1 and cache[0][0].shape == (1, 2, 3, 4)
cache.update(states, states, 0)
assert cache.seen_tokens == 6
for function in (cache.get_usable_length, lambda one: cache.key_cache, cache.__getitem__):
    refuses(NotImplementedError, "DynamicCache()", function, 0)

def new(cache):
    return cache.get_max_length()

def old(cache):
    return cache.get_max_length(), cache.seen_tokens

assert new(DynamicCache(config=MistralConfig(num_hidden_layers=1, sliding_window=None))) == -1
assert old(DynamicCache()) == (None, 0)

class Marked(DynamicCache):
    def __init__(self):
        super().__init__()
        self.seen_tokens = 7

assert Marked().seen_tokens == 7
"""

CLASSES = """
class Talker(PreTrainedModel):
    config_class = PretrainedConfig

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        return {"input_ids": input_ids}

class Silent(PreTrainedModel):
    config_class = PretrainedConfig

bases = Talker.__bases__
assert not hasattr(Talker, "generate")
assert hasattr(Talker(PretrainedConfig()), "generate") and Talker.can_generate()
assert not hasattr(Silent(PretrainedConfig()), "generate") and not Silent.can_generate()
"""

TRAINERS = """
from transformers import TrainingArguments
args = TrainingArguments("x", evaluation_strategy="no", warmup_ratio=0.25, no_cuda=True, report_to=[])
assert args.eval_strategy == "no" and args.get_warmup_steps(100) == 25 and args.use_cpu and args.warmup_ratio == 0.25
for name, value in (("save_safetensors", False), ("half_precision_backend", "apex"), ("no_such_thing", 1)):
    refuses(TypeError, name, TrainingArguments, "x", **{name: value})
try:
    TrainingArguments("x", warmup_ratio=1.5)
except ValueError as error:
    assert "warmup_ratio" in str(error)
else:
    raise AssertionError("a ratio of 1.5 is taken")
try:
    TrainingArguments("x", evaluation_strategy="no")
except TypeError as error:
    assert "evaluation_strategy" in str(error)
else:
    raise AssertionError("a program that handles the error gets it")
"""

GONE = """
import hotfix
hotfix.revert()
assert Talker.__bases__ == bases and not hasattr(Talker, "generate")
assert not hasattr(DynamicCache(), "seen_tokens") and not hasattr(DynamicCache, "from_legacy_cache")
assert DynamicCache(config=config).get_max_length() == 4
refuses(TypeError, "evaluation_strategy", TrainingArguments, "x", evaluation_strategy="no")
print("gone")
"""


@pytest.mark.testbed
def test_names_of_old_code_are_restored_refused_if_misleading_and_reverted() -> None:
    everything = {"HOTFIX_OPTIN": "removed-names", "PYTHONWARNINGS": "ignore::FutureWarning"}
    extras = ("accelerate==1.15.0",)
    text = CACHES + CLASSES + TRAINERS + GONE
    result = run_script("-c", [text], transformers="5.23.0", flash_attn=None, env=everything, extras=extras)
    assert result.require().stdout == "gone\n"


class Trainer:
    compute_loss_func: Any = None
    model_accepts_loss_kwargs = True

    def __init__(self, micro_batches: int = 2) -> None:
        self.args = SimpleNamespace(gradient_accumulation_steps=micro_batches)
        self.accelerator: Any = None


def test_accelerate_divides_around_a_step_with_a_backward_pass_of_its_own() -> None:
    class MakesGradients(Trainer):
        def training_step(self, model: Any, inputs: Any) -> None:
            self.accelerator.backward(inputs)

    class MayLeaveItToTheLibrary(Trainer):
        def training_step(self, model: Any, inputs: Any) -> Any:
            if model is None:
                return super().training_step(model, inputs)  # type: ignore[misc]
            return self.accelerator.backward(inputs)

    divisors = []
    trainer: Any = MakesGradients(2)
    trainer.accelerator = SimpleNamespace(gradient_accumulation_steps=1)
    trainer.accelerator.backward = lambda _: divisors.append(trainer.accelerator.gradient_accumulation_steps)
    assert calls.is_old_step(trainer)
    calls.step(trainer)("model", "inputs", 3)
    assert (divisors, trainer.accelerator.gradient_accumulation_steps) == ([2], 1)
    assert not calls.is_old_step(MayLeaveItToTheLibrary(2))
    assert calls.is_old_step(MayLeaveItToTheLibrary(1))


def test_an_override_is_called_as_it_wants_to_be() -> None:
    class Asks(Trainer):
        def training_step(self, model: Any, inputs: Any) -> Any:
            return inputs

        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False) -> Any:
            return inputs

        def log(self, logs: Any) -> Any:
            return logs

    class Takes(Asks):
        def compute_loss(self, model: Any, inputs: Any, **kwargs: Any) -> Any:  # type: ignore[override]
            return kwargs

    asks, takes = Asks(), Takes()
    assert (calls.is_old_loss(asks), calls.is_old_loss(takes)) == (True, False)
    assert calls.step(asks)("model", "inputs", 3) == "inputs"
    assert calls.loss(asks)("model", "inputs", num_items_in_batch=3) == "inputs"
    assert (asks.model_accepts_loss_kwargs, takes.model_accepts_loss_kwargs) == (False, True)
    assert (calls.lacks(asks, "log", 2), calls.lacks(asks, "log", 1)) == (True, False)
    assert calls.with_as_many(asks.log, "logs", 3) == "logs"
    asks.compute_loss_func = len  # its loss would not be divided
    assert not calls.is_old_loss(asks)


def test_fetching_batches_is_distinguished_from_generating(monkeypatch: pytest.MonkeyPatch) -> None:
    def batches(self: Any, epoch_iterator: Any, num_batches: int, device: Any) -> Any:
        return self, epoch_iterator

    library = type("Trainer", (), {"get_batch_samples": batches})
    batches.__module__ = "transformers.trainer"
    monkeypatch.setitem(sys.modules, "transformers.trainer", SimpleNamespace(Trainer=library))

    class OfTrl(library):  # type: ignore[valid-type,misc]
        def get_batch_samples(self, model: Any, batch: Any) -> Any:
            return model.generate(batch)

    class Older(library):  # type: ignore[valid-type,misc]
        def get_batch_samples(self, epoch_iterator: Any, num_batches: int) -> Any:
            return epoch_iterator

    class Named(library):  # type: ignore[valid-type,misc]
        def get_batch_samples(self, model: Any, count: int, device: Any) -> Any:
            return model

    kinds = (library, OfTrl, Older, Named)
    assert [calls.fetches_no_batches(kind()) for kind in kinds] == [False, True, True, False]
    assert calls.batches(Older(), "all", 2, "cpu") == "all"
    assert calls.batches(OfTrl(), "all", 2, "cpu")[1] == "all"
