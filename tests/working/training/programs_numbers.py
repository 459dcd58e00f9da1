"""Programs whose labels, number of labels or gradients are right in stock because of code of their own."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import torch

from hotfix.proofs.training._writers import writer
from hotfix.proofs.zoo import class_of, classified, small_bert, small_llama, texts
from tests.working.training.programs import cross_entropy, step

_STEPS = {"gradient_accumulation_steps": 4}


def a_prompt_of_peft(testbed, target):
    """A trained prompt predicts the first label of each text."""
    import peft

    kinds = {
        "prompt": peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3),
        "encoder": peft.PromptEncoderConfig(task_type="CAUSAL_LM", num_virtual_tokens=3, encoder_hidden_size=8),
    }
    results = {}
    for name, config in kinds.items():
        torch.manual_seed(0)
        model = peft.get_peft_model(small_llama(testbed), config)
        results.update({f"{name}: {key}": value for key, value in step(model, _unmasked(testbed), **_STEPS)})
    return results


def a_prompt_in_the_forward(testbed, target):
    """The model puts its prompt in front of the text, and calls the library's forward."""
    Llama = type(small_llama(testbed))

    class Prompted(Llama):
        def forward(self, input_ids=None, attention_mask=None, labels=None, **kwargs):
            words = self.get_input_embeddings()(input_ids)
            rows = words.shape[0]
            prompt = self.lm_head.weight[:3].expand(rows, -1, -1)
            labels = torch.cat([labels.new_full((rows, 3), -100), labels], 1)
            return super().forward(inputs_embeds=torch.cat([prompt, words], 1), labels=labels, **kwargs)

    model = small_llama(testbed)
    model.__class__ = Prompted
    return dict(step(model, _unmasked(testbed), **_STEPS))


def a_number_of_ones_own(testbed, target):
    """A published work-around: the first label of each text is taken off the number."""

    def make(base):
        class Own(base):
            def get_batch_samples(self, *args, **kwargs):
                batches, number = super().get_batch_samples(*args, **kwargs)
                return batches, number - sum(batch["labels"].shape[0] for batch in batches)

        return Own

    return dict(step(small_llama(testbed), _unmasked(testbed), make=make, **_STEPS))


def a_decorated_loss(testbed, target):
    """A decorator takes the number from a ``compute_loss`` that does not know it, and divides."""

    def divided(method):
        @functools.wraps(method)
        def without_the_number(self, *args, num_items_in_batch=None, **kwargs):
            return method(self, *args, **kwargs) / self.args.gradient_accumulation_steps

        return without_the_number

    def make(base):
        class Own(base):
            @divided
            def compute_loss(self, model, inputs, return_outputs=False):
                return model(**inputs).loss

        return Own

    return dict(step(small_llama(testbed), texts(testbed, (1, 1, 1, 1)), make=make, **_STEPS))


def gradients_divided_by_hand(testbed, target):
    """After the backward pass, before the step, and as they are made."""

    def in_the_step(base):
        class Own(base):
            def training_step(self, *args, **kwargs):
                loss = super().training_step(*args, **kwargs)
                if self.accelerator.sync_gradients:
                    for weight in self.model.parameters():
                        weight.grad /= self.args.gradient_accumulation_steps
                return loss

        return Own

    def by_the_optimizer(trainer):
        steps = trainer.args.gradient_accumulation_steps

        def divide(optimizer, args, kwargs):
            gradient_accumulation_steps = steps
            for group in optimizer.param_groups:
                for weight in group["params"]:
                    weight.grad /= gradient_accumulation_steps

        trainer.optimizer.register_step_pre_hook(divide)

    def by_the_weights(trainer):
        for weight in trainer.model.parameters():
            weight.register_hook(lambda gradient: gradient / trainer.args.gradient_accumulation_steps)

    ways = {
        "step": {"make": in_the_step},
        "optimizer": {"prepare": by_the_optimizer},
        "weights": {"prepare": by_the_weights},
    }
    samples, results = texts(testbed, (1, 1, 1, 1)), {}
    for name, way in ways.items():
        model = small_llama(testbed)
        results.update({f"{name}: {key}": value for key, value in step(model, samples, **_STEPS, **way)})
        results.update({f"{name}: {key} left": weight.grad for key, weight in model.named_parameters()})
    return {name: value for name, value in results.items() if value is not None}


def short_epochs_and_averages(testbed, target):
    """An epoch of one micro-batch, which is weighed by its labels or not at all, and an average of divided losses."""

    def of(compute):
        def make(base):
            class Own(base):
                def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                    labels = inputs["labels"]
                    outputs = model(input_ids=inputs["input_ids"])
                    return compute(self, cross_entropy(outputs, labels), labels.numel(), num_items_in_batch)

            return Own

        return make

    def averaged(trainer, loss, labels, number):
        return torch.stack([loss / trainer.args.gradient_accumulation_steps] * 2).mean()

    samples = classified(testbed)
    programs = {
        "plain": (samples[:1], None),
        "mean": (samples[:1], of(lambda trainer, loss, labels, number: loss)),
        "weighed": (samples[:1], of(lambda trainer, loss, labels, number: loss * (labels / number))),
        "averaged": (samples, of(averaged)),
    }
    results = {}
    for name, (data, make) in programs.items():
        values = step(small_bert(testbed), data, make=make, num_train_epochs=1, max_steps=-1, **_STEPS)
        results.update({f"{name}: {key}": value for key, value in values if key != "loss"})
    return results


def labels_moved_back(testbed, target):
    """Labels that make up for the shift that the model adds to that of its loss."""
    results = {}
    for name, kind in (("git", "GitForCausalLM"), ("jetmoe", "JetMoeForCausalLM")):
        place = SimpleNamespace(module=f"transformers.models.{name}.modeling_{name}", qualname=kind)
        model, inputs = writer(testbed, class_of(place))
        ids = inputs["input_ids"]
        labels = torch.nn.functional.pad(ids[:, :-1], (1, 0), value=-100)
        labels[:, 1] = -100
        results[name] = model(**{**inputs, "labels": labels}).loss
    return results


def _unmasked(testbed):
    return [{**sample, "labels": sample["input_ids"]} for sample in texts(testbed, (1, 1, 1, 1))]
