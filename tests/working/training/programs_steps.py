"""Programs that divide by the number of micro-batches in code that no fix inspects: in hooks, callbacks, losses of a
model; and losses that leave out the first label in a function that they call.
"""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from typing import Any

from hotfix.proofs.training._steps import free_port
from hotfix.proofs.zoo import classified, small_bert, small_llama, texts
from tests.working.training.programs import LOSSES, cross_entropy, equal_texts, function_that_ignores_the_number, step
from tests.working.training.programs_models import _mamba

_STEPS = {"gradient_accumulation_steps": 4}


def _hooked(model: Any, prepare: Any = None) -> Any:
    """A model whose loss is divided by a hook."""

    def divided(module, inputs, output):
        output["loss"] = output["loss"] / _STEPS["gradient_accumulation_steps"]
        return output

    model.register_forward_hook(divided)
    return model


def _watched(model: Any) -> Any:
    """A model whose loss is kept by a hook."""
    seen = []

    def kept(module, inputs, output):
        seen.append(output["loss"].detach())

    model.register_forward_hook(kept)
    return model


def _scaled_by(factor: Any) -> Any:
    """Gives a Trainer a callback that multiplies gradients by a function of its arguments."""
    from transformers import Trainer, TrainerCallback

    class Scaling(TrainerCallback):
        def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
            for weight in model.parameters():
                if weight.grad is not None:
                    weight.grad.mul_(factor(args.gradient_accumulation_steps))

    def make(base):
        class Own(base):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, callbacks=[Scaling()], **kwargs)

        return Own

    assert issubclass(make(Trainer), Trainer)
    return make


def hooks_of_a_mamba(testbed, target):
    """A model that ignores the number: its hook, or a callback, divides."""
    samples = texts(testbed, (7, 4, 2, 1))
    values = {f"hook: {name}": value for name, value in step(_hooked(_mamba(testbed)), samples, **_STEPS)}
    make = _scaled_by(lambda steps: 1 / steps)
    values.update({f"callback: {name}": value for name, value in step(_mamba(testbed), samples, make=make, **_STEPS)})
    return values


def a_watched_mamba(testbed, target):
    """Micro-batches and the batch, of a model whose hook changes nothing."""
    results = {}
    for way, arguments in (("micro", _STEPS), ("whole", {"per_device_train_batch_size": 4})):
        values = step(_watched(_mamba(testbed)), texts(testbed, (1, 1, 1, 1)), **arguments)
        results.update({f"watched: {way} {name}": value for name, value in values})
    return results


def hooks_of_a_llama(testbed, target):
    """A model that takes the number, which the release does not pass: a hook, a callback, or its own loss divides."""
    from transformers import LlamaForCausalLM

    class Own(LlamaForCausalLM):
        """Its loss takes the arguments that the release passes on."""

        @property
        def loss_function(self):
            return _loss_by_steps

    samples = texts(testbed, (7, 4, 2, 1))
    results = {f"hook: {name}": value for name, value in step(_hooked(small_llama(testbed)), samples, **_STEPS)}
    make = _scaled_by(lambda steps: 1 / steps)
    values = step(small_llama(testbed), samples, make=make, **_STEPS)
    results.update({f"callback: {name}": value for name, value in values})
    model = testbed.fill(Own(small_llama(testbed).config))
    results.update({f"loss: {name}": value for name, value in step(model, samples, **_STEPS)})
    return results


def _loss_by_steps(logits, labels, vocab_size):
    return cross_entropy({"logits": logits}, labels) / _STEPS["gradient_accumulation_steps"]


def a_callback_that_divides(testbed, target):
    """For a model that takes no loss arguments."""
    make = _scaled_by(lambda steps: 1 / steps)
    return dict(step(small_bert(testbed), classified(testbed), make=make, **_STEPS))


def a_callback_that_multiplies(testbed, target):
    """For a release that divides twice."""
    make = _scaled_by(lambda steps: float(steps))
    return dict(step(small_llama(testbed), texts(testbed, (1, 1, 1, 1)), make=make, **_STEPS))


def losses_that_call_one_without_the_first_label(testbed, target):
    """The first label of each text is fixed: a function that the loss calls does not score it."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    class Loss:
        def __call__(self, outputs, labels, num_items_in_batch=None):
            return _without_the_first(outputs["logits"], labels) / num_items_in_batch

    def by_a_method(base):
        class Own(base):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                return self.scored(model(**inputs), inputs["labels"]) / num_items_in_batch

            def scored(self, outputs, labels):
                return _without_the_first(outputs.logits, labels)

        return Own

    def by_the_step(base):
        class Own(base):
            def training_step(self, model, inputs, num_items_in_batch=None):
                model.train()
                inputs = self._prepare_inputs(inputs)
                loss = _without_the_first(model(**inputs).logits, inputs["labels"]) / num_items_in_batch
                self.accelerator.backward(loss)
                return loss.detach()

        return Own

    def function(outputs, labels, num_items_in_batch=None, scale=1.0):
        return scale * _without_the_first(outputs["logits"], labels) / num_items_in_batch

    width = {"d_model": 16, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16, "vocab_size": 32}
    depth = {"encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
    config = BartConfig(**width, **depth, pad_token_id=0, decoder_start_token_id=2, max_position_embeddings=32)
    ids = testbed.randint(3, 32, 4, 6, seed=1).cpu()
    samples = [{"input_ids": id, "labels": id} for id in ids]
    results = {"samples": torch.stack([sample["labels"] for sample in samples])}
    for way, options in (
        ("object", {"function": Loss()}),
        ("partial", {"function": partial(function, scale=1.0)}),
        ("helper", {"function": function}),
        ("method", {"make": by_a_method}),
        ("step", {"make": by_the_step}),
    ):
        model = testbed.fill(BartForConditionalGeneration(config))
        results.update({f"{way}: {name}": value for name, value in step(model, samples, **options, **_STEPS)})
    return results


def _without_the_first(logits, labels):
    import torch

    logits, labels = logits[:, 1:].flatten(0, 1), labels[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(logits, labels, reduction="sum")


def means_under_deepspeed(testbed, target):
    """Means over a micro-batch, which DeepSpeed's own engine divides: how far a step goes, and as one batch."""
    import torch

    from hotfix.proofs.training._old_trainers import trained_with
    from hotfix.proofs.training.deepspeed_double_gas_scaling import _length_of_gradients

    def ignoring(base):
        class Own(base):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, compute_loss_func=function_that_ignores_the_number, **kwargs)

        return Own

    job = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": free_port()}
    os.environ.update({name: str(value) for name, value in job.items()}, MASTER_ADDR="127.0.0.1", DS_ACCELERATOR="cpu")
    backend: Any = import_module("deepspeed.comm.torch")
    backend.build_shm_op = lambda: None  # for several ranks; it would be compiled
    results = {}
    ways = {"mean": LOSSES["mean"]["make"], "smoothing": lambda base: base, "function": ignoring}
    for kind, make in ways.items():
        options = LOSSES[kind] if kind == "smoothing" else {}
        with trained_with(make):
            for way, sizes in (("micro", _STEPS), ("whole", {"per_device_train_batch_size": 4})):
                length = _length_of_gradients(small_llama(testbed), equal_texts(testbed), **options, **sizes)
                results[f"{kind}: {way}"] = length
    torch.distributed.destroy_process_group()
    return results
