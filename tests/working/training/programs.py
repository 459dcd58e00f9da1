"""Programs that train correctly in stock, or whose repair must hold: losses in micro-batches and in one batch."""

from __future__ import annotations

import tempfile
from functools import partial
from types import SimpleNamespace
from typing import Any

from hotfix.proofs.testbed import Testbed
from hotfix.proofs.zoo import classified, small_bert, small_llama, texts

STEPS = 4


def cross_entropy(outputs, labels, reduction="mean"):
    import torch

    logits = outputs["logits"]
    if labels.dim() > 1:
        logits, labels = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(logits.float(), labels, reduction=reduction)


def own_loss(compute):
    """A Trainer whose ``compute_loss`` calls `compute` with itself, the outputs, the labels, and the number."""

    def make(base):
        class Own(base):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                labels = inputs["labels"]
                outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
                loss = compute(self, outputs, labels, num_items_in_batch)
                return (loss, outputs) if return_outputs else loss

        return Own

    return make


def _steps(trainer):
    return trainer.args.gradient_accumulation_steps


def passing(base):
    """Keeps a metric, like TRL's Trainers."""

    class Passing(base):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            (loss, outputs) = super().compute_loss(
                model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch
            )
            self.accuracy = (outputs["logits"].argmax(-1) > 0).float().sum() / 7
            return (loss, outputs) if return_outputs else loss

    return Passing


def divides_the_result(base):
    """As in LLaMA-Factory 0.9.1 for models that take no loss arguments."""

    class Divides(base):
        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            loss = super().compute_loss(model, inputs, return_outputs, **kwargs)
            if not getattr(self, "model_accepts_loss_kwargs", False):
                return (loss[0] / _steps(self), *loss[1:]) if return_outputs else loss / _steps(self)
            return loss

    return Divides


def divides_in_place(base):
    """As in ms-swift 3.0.1."""

    class InPlace(base):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
            if num_items_in_batch is not None:
                loss /= _steps(self)
            return (loss, outputs) if return_outputs else loss

    return InPlace


def always_divides(base):
    """Divides the value that the library computes without the number."""

    class Divides(base):
        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
            loss = loss / _steps(self)
            return (loss, outputs) if return_outputs else loss

    return Divides


def multiplies(base):
    """Compensates for the double division."""

    class Multiplies(base):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            loss, outputs = super().compute_loss(
                model, inputs, return_outputs=True, num_items_in_batch=num_items_in_batch
            )
            loss = loss * _steps(self)
            return (loss, outputs) if return_outputs else loss

    return Multiplies


def of_45(base):
    """Written before 4.46: does not accept the number."""

    class Old(base):
        def compute_loss(self, model, inputs, return_outputs=False):
            outputs = model(**inputs)
            return (outputs.loss, outputs) if return_outputs else outputs.loss

    return Old


def of_45_that_divides(base):
    class Old(base):
        def compute_loss(self, model, inputs, return_outputs=False):
            outputs = model(**inputs)
            loss = outputs.loss / _steps(self)
            return (loss, outputs) if return_outputs else loss

    return Old


def backward_of_ones_own(base):
    """A ``training_step`` that leaves the division to Accelerate, or divides if Accelerate does not."""

    class Own(base):
        def training_step(self, model, inputs, num_items_in_batch=None):
            model.train()
            loss = model(**self._prepare_inputs(inputs)).loss
            divided_later = self.accelerator.gradient_accumulation_steps > 1
            self.accelerator.backward(loss if divided_later else loss / _steps(self))
            return loss.detach() / _steps(self)

    return Own


def function_that_ignores_the_number(outputs, labels, num_items_in_batch=None):
    return cross_entropy(outputs, labels)


def function_of_the_number(outputs, labels, num_items_in_batch=None):
    if num_items_in_batch is None:
        return cross_entropy(outputs, labels)
    return cross_entropy(outputs, labels, "sum") / num_items_in_batch


def function_that_multiplies(outputs, labels, num_items_in_batch=None):
    """For the actual number of micro-batches."""
    if num_items_in_batch is None:
        return cross_entropy(outputs, labels)
    steps = num_items_in_batch // (labels[:, 1:] if labels.dim() > 1 else labels).numel()
    return cross_entropy(outputs, labels, "sum") * steps / num_items_in_batch


def by_the_number(trainer, outputs, labels, number):
    if number is None:
        return cross_entropy(outputs, labels) / _steps(trainer)
    return cross_entropy(outputs, labels, "sum") / number


LOSSES: dict[str, dict[str, Any]] = {
    "plain": {},
    "passing": {"make": passing},
    "smoothing": {"label_smoothing_factor": 0.1},
    "mean": {"make": own_loss(lambda trainer, outputs, labels, number: cross_entropy(outputs, labels))},
    "mean of a batch": {
        "make": own_loss(lambda trainer, outputs, labels, number: cross_entropy(outputs, labels, "none").mean())
    },
    "mean by steps": {
        "make": own_loss(lambda trainer, outputs, labels, number: cross_entropy(outputs, labels) / _steps(trainer))
    },
    "mean of divided": {
        "make": own_loss(
            lambda trainer, outputs, labels, number: (cross_entropy(outputs, labels, "none") / _steps(trainer)).mean()
        )
    },
    "by samples": {
        "make": own_loss(
            lambda trainer, outputs, labels, number: (
                cross_entropy(outputs, labels, "sum")
                / (labels[:, 1:].numel() if labels.dim() > 1 else labels.numel())
                / _steps(trainer)
            )
        )
    },
    "by rows": {
        "make": own_loss(
            lambda trainer, outputs, labels, number: (
                cross_entropy(
                    {"logits": outputs["logits"][:, -2:] if labels.dim() > 1 else outputs["logits"]},
                    labels[:, -2:] if labels.dim() > 1 else labels,
                    "sum",
                )
                / labels.shape[0]
            )
        )
    },
    "average of four": {
        "make": own_loss(
            lambda trainer, outputs, labels, number: sum(cross_entropy(outputs, labels) for _ in range(4)) / 4
        )
    },
    "sum": {"make": own_loss(lambda trainer, outputs, labels, number: cross_entropy(outputs, labels, "sum"))},
    "by the number": {"make": own_loss(by_the_number)},
    "function": {"function": function_that_ignores_the_number},
    "function of the number": {"function": function_of_the_number},
    "divides the result": {"make": divides_the_result},
    "multiplies": {"make": multiplies},
    "function that multiplies": {"function": function_that_multiplies},
    "divides in place": {"make": divides_in_place},
    "always divides": {"make": always_divides},
    "of 4.45": {"make": of_45},
    "of 4.45 that divides": {"make": of_45_that_divides},
    "own training step": {"make": backward_of_ones_own},
}


def every_loss(testbed, target):
    """``KIND: MODEL: gradient of …`` for micro-batches, and the same with ``whole``; ``… loss`` as reported.

    Args:
        testbed: of the case.
        target: `qualname` has the models, and behind a slash the kinds of losses; None for all.
    """
    models, _, kinds = (target.qualname if target else "").partition("/")
    results = {}
    for model in filter(None, models.split(",") if models else ("llama", "bert")):
        for kind in kinds.split(",") if kinds else LOSSES:
            options = dict(LOSSES[kind])
            values = ways(testbed, model, **options)
            results.update({f"{model}: {kind}: {name}": value for name, value in values.items()})
    return results


def ways(testbed, model, **options):
    made, data = MODELS[model]
    samples = data(testbed)
    results = {}
    for way, arguments in (
        ("micro", {"gradient_accumulation_steps": len(samples)}),
        ("whole", {"per_device_train_batch_size": len(samples)}),
    ):
        try:
            results.update(
                {f"{way} {name}": value for name, value in step(made(testbed), samples, **arguments, **options)}
            )
        except TypeError as error:
            if "num_items_in_batch" not in str(error) and "NoneType" not in str(error):
                raise
            import torch

            results[f"{way} raised"] = torch.tensor(1)
    return results


def step(model, samples, make=None, function=None, prepare=None, **arguments):
    """One optimizer step of a Trainer; yields the reported loss and the gradients."""
    import torch
    from transformers import Trainer, TrainingArguments

    gradients = {}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    optimizer.register_step_pre_hook(lambda *step: gradients.update(Testbed.gradients(model)))
    kind = make(Trainer) if make else Trainer
    with tempfile.TemporaryDirectory() as folder:
        settings = {
            "per_device_train_batch_size": 1, "max_steps": 1, "max_grad_norm": 0.0, "report_to": [],
            "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, **arguments,
        }  # fmt: skip
        trainer = kind(
            model=model,
            args=TrainingArguments(folder, **settings),
            train_dataset=[dict(sample) for sample in samples],
            optimizers=(optimizer, None),
            **({"compute_loss_func": function} if function else {}),
        )
        if prepare:
            prepare(trainer)
        loss = trainer.train().training_loss
    yield "loss", torch.tensor(loss)
    yield from ((f"gradient of {name}", value) for name, value in sorted(gradients.items()))


def equal_texts(testbed):
    return texts(testbed, (1, 1, 1, 1))


def net(testbed):
    """A custom model, which takes no loss arguments."""
    import torch
    from transformers.modeling_outputs import CausalLMOutput

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.config = SimpleNamespace()
            self.embedding, self.head = torch.nn.Embedding(32, 8), torch.nn.Linear(8, 32)

        def forward(self, input_ids, labels=None, attention_mask=None):
            logits = self.head(self.embedding(input_ids))
            loss = None if labels is None else cross_entropy({"logits": logits}, labels)
            return CausalLMOutput(loss=loss, logits=logits)

    return testbed.fill(Net())


MODELS = {
    "net": (net, equal_texts),
    "llama": (lambda testbed: small_llama(testbed), equal_texts),
    "bert": (lambda testbed: small_bert(testbed), classified),
}

__all__ = ["every_loss", "partial"]
