"""Custom Trainers: losses that divide, count, ignore or refuse the number of items; overrides; data."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from typing import Any

from tools.deviations.registry import deviation
from tools.deviations.scene import NotHere, Scene
from tools.deviations.values import named

INPUTS = ("case", "trainer")


def two_models_both_ways(testbed: Any, target: Any) -> dict[str, Any]:
    """A Llama, a BERT and a model of the user's own: four micro-batches of one sample, and one batch of all four.

    Each sample has as many labels as the others, so that both ways agree where the Trainer and the program are right.
    """
    from hotfix.proofs import zoo
    from hotfix.proofs.training._steps import both_ways

    makers: dict[str, tuple[Callable[[], Any], Any]] = {
        "Llama": (lambda: zoo.small_llama(testbed), zoo.texts(testbed, (1, 1, 1, 1))),
        "BERT": (lambda: zoo.small_bert(testbed), zoo.classified(testbed)),
        "own": (lambda: testbed.fill(_own_model()), zoo.texts(testbed, (1, 1, 1, 1))),
    }
    results = {}
    for name, (make, samples) in makers.items():
        results.update({f"{name}: {key}": value for key, value in both_ways(make, samples).items()})
    return results


@deviation("training", "neighbours", bases=INPUTS)
def loss_that_is_a_mean(scene: Scene) -> None:
    """An overridden `compute_loss` returns mean cross-entropy and ignores the number of items."""
    _with_loss(scene, lambda trainer, scores, labels, number: _entropy(scores, labels, "mean"))


@deviation("training", "neighbours", bases=INPUTS)
def loss_divided_by_the_number(scene: Scene) -> None:
    """An overridden `compute_loss` divides the sum by the number of items, else by the labels of its batch."""

    def loss(trainer: Any, scores: Any, labels: Any, number: Any) -> Any:
        return _entropy(scores, labels, "sum") / (
            (labels[..., 1:] if scores.ndim == 3 else labels).ne(-100).sum() if number is None else number
        )

    _with_loss(scene, loss)


@deviation("training", "neighbours", bases=INPUTS)
def loss_divided_by_number_or_steps(scene: Scene) -> None:
    """An overridden `compute_loss` divides the sum by the number, or the mean by the steps where it gets none."""

    def loss(trainer: Any, scores: Any, labels: Any, number: Any) -> Any:
        if number is None:
            return _entropy(scores, labels, "mean") / trainer.args.gradient_accumulation_steps
        return _entropy(scores, labels, "sum") / number

    _with_loss(scene, loss)


@deviation("training", "neighbours", bases=INPUTS)
def loss_divided_by_number_always(scene: Scene) -> None:
    """An overridden `compute_loss` divides the sum by the number of items, which it requires."""
    _with_loss(scene, lambda trainer, scores, labels, number: _entropy(scores, labels, "sum") / number)


@deviation("training", "neighbours", bases=INPUTS)
def loss_divided_by_steps(scene: Scene) -> None:
    """An overridden `compute_loss` divides mean cross-entropy by the steps, the published work-around."""

    def loss(trainer: Any, scores: Any, labels: Any, number: Any) -> Any:
        return _entropy(scores, labels, "mean") / trainer.args.gradient_accumulation_steps

    _with_loss(scene, loss)


@deviation("training", "neighbours", bases=INPUTS)
def loss_of_the_model(scene: Scene) -> None:
    """An overridden `compute_loss` returns the loss of the model, which does not get the number of items."""

    def make(trainer: type[Any]) -> type[Any]:
        def compute_loss(self: Any, model: Any, inputs: Any, return_outputs: bool = False, **options: Any) -> Any:
            outputs = model(**inputs)
            return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

        return scene.own_class(trainer, {"compute_loss": compute_loss})

    scene.on_trainers(make)


@deviation("training", "neighbours", bases=INPUTS)
def loss_of_the_model_divided_by_steps(scene: Scene) -> None:
    """An overridden `compute_loss` divides what the library's returns by `gradient_accumulation_steps`."""

    def make(trainer: type[Any]) -> type[Any]:
        def compute_loss(self: Any, model: Any, inputs: Any, return_outputs: bool = False, **options: Any) -> Any:
            loss = super(own, self).compute_loss(model, inputs, **options)
            return loss / self.args.gradient_accumulation_steps

        own = scene.own_class(trainer, {"compute_loss": compute_loss})
        return own

    scene.on_trainers(make)


@deviation("training", "neighbours", bases=INPUTS)
def loss_that_refuses_the_number(scene: Scene) -> None:
    """An overridden `compute_loss` has the signature of 4.45, without the number of items."""

    def make(trainer: type[Any]) -> type[Any]:
        def compute_loss(self: Any, model: Any, inputs: Any, return_outputs: bool = False) -> Any:
            outputs = model(**inputs)
            return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

        return scene.own_class(trainer, {"compute_loss": compute_loss})

    scene.on_trainers(make)


@deviation("training", "neighbours", bases=INPUTS)
def loss_function_that_is_a_mean(scene: Scene) -> None:
    """A `compute_loss_func` returns mean cross-entropy and ignores the number of items."""
    _with_loss_function(
        scene, lambda outputs, labels, num_items_in_batch=None: _entropy(outputs["logits"], labels, "mean")
    )


@deviation("training", "neighbours", bases=INPUTS)
def loss_function_that_counts(scene: Scene) -> None:
    """A `compute_loss_func` divides the sum by the number of items."""

    def own(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
        return _entropy(outputs["logits"], labels, "sum") / num_items_in_batch

    _with_loss_function(scene, own)


@deviation("training", "neighbours", bases=INPUTS)
def loss_function_that_refuses_the_number(scene: Scene) -> None:
    """A `compute_loss_func` does not take the number of items."""
    _with_loss_function(scene, lambda outputs, labels: _entropy(outputs["logits"], labels, "mean"))


@deviation("training", "neighbours", bases=INPUTS)
def label_smoothing(scene: Scene) -> None:
    """The Trainer smooths labels."""
    _with_arguments(scene, label_smoothing_factor=0.1)


@deviation("training", "neighbours", bases=INPUTS, transparent=True)
def overrides_that_pass_on(scene: Scene) -> None:
    """A Trainer overrides its loss and its step, and calls `super()` with the arguments that it gets."""

    def make(trainer: type[Any]) -> type[Any]:
        def compute_loss(self: Any, *arguments: Any, **options: Any) -> Any:
            return super(own, self).compute_loss(*arguments, **options)

        def training_step(self: Any, *arguments: Any, **options: Any) -> Any:
            return super(own, self).training_step(*arguments, **options)

        own = scene.own_class(trainer, {"compute_loss": compute_loss, "training_step": training_step})
        return own

    scene.on_trainers(make)


@deviation("training", "neighbours", bases=INPUTS)
def step_of_the_user(scene: Scene) -> None:
    """A Trainer overrides `training_step` with a backward pass of its own, which divides by the micro-batches."""

    def make(trainer: type[Any]) -> type[Any]:
        def training_step(self: Any, model: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
            model.train()
            loss = model(**self._prepare_inputs(inputs))["loss"] / self.args.gradient_accumulation_steps
            loss.backward()
            return loss.detach()

        return scene.own_class(trainer, {"training_step": training_step})

    scene.on_trainers(make)


@deviation("training", bases=INPUTS)
def model_accepts_the_number(scene: Scene) -> None:
    """`trainer.model_accepts_loss_kwargs = True` is set after construction."""
    _with_attribute(scene, model_accepts_loss_kwargs=True)


@deviation("training", bases=INPUTS)
def model_refuses_the_number(scene: Scene) -> None:
    """`trainer.model_accepts_loss_kwargs = False` is set after construction."""
    _with_attribute(scene, model_accepts_loss_kwargs=False)


@deviation("training", bases=INPUTS)
def forward_that_counts(scene: Scene) -> None:
    """A forward that divides its sum by the number of items is put on the instance."""

    def change(model: Any) -> None:
        original = model.forward

        @functools.wraps(original)
        def forward(*arguments: Any, num_items_in_batch: Any = None, **options: Any) -> Any:
            labels = options.get("labels")
            outputs = original(*arguments, **options)
            if labels is not None and num_items_in_batch is not None and "logits" in outputs:
                outputs["loss"] = _entropy(outputs["logits"], labels, "sum") / num_items_in_batch
            return outputs

        forward.__signature__ = _signature(original)  # type: ignore[attr-defined]
        model.forward = forward
        scene.touch()

    scene.on_models(change)


@deviation("training", bases=INPUTS)
def forward_that_refuses_the_number(scene: Scene) -> None:
    """The model is in a wrapper that takes any arguments and passes them to a forward that rejects the number."""
    import torch

    class MyModel(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.inner = model
            self.config = getattr(model, "config", None)

        def forward(self, **options: Any) -> Any:
            if "num_items_in_batch" in options:
                raise TypeError("forward() got an unexpected keyword argument 'num_items_in_batch'")
            return self.inner(**options)

    def change(model: Any) -> Any:
        scene.touch()
        return MyModel(model)

    _with_arguments(scene, remove_unused_columns=False)  # the wrapper names no columns
    scene.on_models(change)


@deviation("training", transparent=True)
def labels_as_a_view(scene: Scene) -> None:
    """The labels are a view of longer rows, as `ids[:, 1:]` is."""
    import torch

    def change(module: Any, arguments: Any, options: Any) -> Any:
        labels = options.get("labels")
        if labels is None or labels.ndim != 2:
            return None
        scene.touch()
        return arguments, {**options, "labels": torch.cat([labels[:, :1], labels], dim=1)[:, 1:]}

    scene.on_models(lambda model: model.register_forward_pre_hook(change, with_kwargs=True) and None)


@deviation("training")
def labels_beside_inputs_of_the_decoder(scene: Scene) -> None:
    """The same tokens are given as `decoder_input_ids` and as `labels`."""

    def change(module: Any, arguments: Any, options: Any) -> Any:
        labels = options.get("labels")
        if labels is None or options.get("decoder_input_ids") is not None:
            return None
        scene.touch()
        return arguments, {**options, "decoder_input_ids": labels.clamp(min=0)}

    def on_model(model: Any) -> None:
        if "decoder_input_ids" in _signature(model.forward).parameters:
            model.register_forward_pre_hook(change, with_kwargs=True)

    scene.on_models(on_model)


@deviation("training", bases=("trainer",))
def evaluated_too(scene: Scene) -> None:
    """The Trainer evaluates after each step."""
    losses: list[float] = []

    def make(trainer: type[Any]) -> type[Any]:
        def training_step(self: Any, *arguments: Any, **options: Any) -> Any:
            loss = super(own, self).training_step(*arguments, **options)
            losses.append(self.evaluate(self.train_dataset)["eval_loss"])
            self.model.train()
            return loss

        own = scene.own_class(trainer, {"training_step": training_step})
        return own

    scene.on_trainers(make)


@deviation("training", "neighbours", bases=("",), files=True)
def trained_and_resumed(scene: Scene) -> dict[str, Any]:
    """A run is saved after each step, and taken up again from the first checkpoint."""
    return resumed(scene, scene.folder)


@deviation("training", bases=("",))
def own_model_that_counts(scene: Scene) -> dict[str, Any]:
    """A model of the user's that divides by the number of items, and does not shift: a classifier and a tagger."""
    from hotfix.proofs.training._steps import one_step

    scene.touch()
    results: dict[str, Any] = {}
    for kind in ("classifier", "tagger"):
        for batch, steps in ((8, 1), (2, 4), (1, 8)):
            model = scene.testbed.fill(_own_model(kind))
            samples = _tagged(scene.testbed, kind)
            step = one_step(model, samples, per_device_train_batch_size=batch, gradient_accumulation_steps=steps)
            way = "whole batch" if steps == 1 else "accumulated"
            results.update({f"{way} {kind}, {steps} steps, {name}": value for name, value in step.items()})
    return results


# -- below: how they are made ------------------------------------------------------------------------------------------


def resumed(scene: Scene, folder: str) -> dict[str, Any]:
    """Train for two steps and save each; then go on from the first, or, with a folder that has it, from that one."""
    import os

    import torch
    from transformers import Trainer, TrainingArguments

    from hotfix.proofs import zoo

    samples = zoo.texts(scene.testbed, (1, 1, 1, 1))
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as own:
        place = folder or own

        def trainer() -> Any:
            arguments: dict[str, Any] = {"max_steps": 2, "save_steps": 1, "learning_rate": 0.1, "report_to": []}
            arguments.update(per_device_train_batch_size=1, disable_tqdm=True, use_cpu=True, save_safetensors=True)
            try:
                made = TrainingArguments(place, **arguments)
            except TypeError:
                del arguments["save_safetensors"]
                made = TrainingArguments(place, **arguments)
            return Trainer(model=zoo.small_llama(scene.testbed), args=made, train_dataset=list(samples))

        scene.touch()
        checkpoint = os.path.join(place, "checkpoint-1")
        if not os.path.isdir(checkpoint):
            first = trainer()
            first.train()
            results.update(named("trained", dict(first.model.state_dict())))
        again = trainer()
        again.train(resume_from_checkpoint=checkpoint)
        results.update(named("resumed", dict(again.model.state_dict())))
        results["random"] = torch.rand(3)
        results.update(named("files", sorted(os.listdir(checkpoint))))
    return results


def _entropy(scores: Any, labels: Any, reduction: str) -> Any:
    """Cross-entropy of classes, or of the next token."""
    import torch

    if scores.ndim == 3 and labels.ndim == 2:
        scores, labels = scores[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(scores.float(), labels, reduction=reduction)


def _with_loss(scene: Scene, loss: Callable[[Any, Any, Any, Any], Any]) -> None:
    def make(trainer: type[Any]) -> type[Any]:
        def compute_loss(
            self: Any, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
        ) -> Any:
            labels = inputs["labels"]
            outputs = model(**{name: value for name, value in inputs.items() if name != "labels"})
            result = loss(self, outputs["logits"], labels, num_items_in_batch)
            return (result, outputs) if return_outputs else result

        return scene.own_class(trainer, {"compute_loss": compute_loss})

    scene.on_trainers(make)


def _with_loss_function(scene: Scene, function: Callable[..., Any]) -> None:
    import inspect

    def make(trainer: type[Any]) -> type[Any]:
        if "compute_loss_func" not in inspect.signature(trainer.__init__).parameters:
            raise NotHere("this release has no compute_loss_func")

        def initialise(self: Any, *arguments: Any, **options: Any) -> None:
            super(own, self).__init__(*arguments, **{**options, "compute_loss_func": function})

        own = scene.own_class(trainer, {"__init__": initialise})
        return own

    scene.on_trainers(make)


def _with_arguments(scene: Scene, **settings: Any) -> None:
    def make(trainer: type[Any]) -> type[Any]:
        def initialise(self: Any, model: Any = None, args: Any = None, **options: Any) -> None:
            for name, value in settings.items():
                setattr(args, name, value)
            super(own, self).__init__(model=model, args=args, **options)

        own = scene.own_class(trainer, {"__init__": initialise})
        return own

    scene.on_trainers(make)


def _with_attribute(scene: Scene, **settings: Any) -> None:
    def make(trainer: type[Any]) -> type[Any]:
        def initialise(self: Any, *arguments: Any, **options: Any) -> None:
            super(own, self).__init__(*arguments, **options)
            for name, value in settings.items():
                setattr(self, name, value)

        own = scene.own_class(trainer, {"__init__": initialise})
        return own

    scene.on_trainers(make)


def _signature(function: Any) -> Any:
    import inspect

    return inspect.signature(function)


def _own_model(kind: str = "writer") -> Any:
    """A `PreTrainedModel` of the user's: one that takes the mean of its batch, or that counts and does not shift."""
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class MyConfig(PretrainedConfig):  # type: ignore[misc]
        model_type = "my-model"

    class MyModel(PreTrainedModel):  # type: ignore[misc]
        config_class = MyConfig

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.embed = torch.nn.Embedding(64, 16)
            self.head = torch.nn.Linear(16, 64)

        def _init_weights(self, module: Any) -> None:
            pass

    def mean(self: Any, input_ids: Any, labels: Any = None) -> Any:
        logits = self.head(self.embed(input_ids))
        return {"loss": None if labels is None else _entropy(logits, labels, "mean"), "logits": logits}

    def counted(self: Any, input_ids: Any, labels: Any = None, num_items_in_batch: Any = None, **options: Any) -> Any:
        states = self.embed(input_ids)
        logits = self.head(states.mean(1) if kind == "classifier" else states)
        rows, wanted = (logits, labels) if kind == "classifier" else (logits.flatten(0, 1), labels.flatten())
        total = torch.nn.functional.cross_entropy(rows, wanted, reduction="sum")
        return {
            "loss": total / (wanted.ne(-100).sum() if num_items_in_batch is None else num_items_in_batch),
            "logits": logits,
        }

    MyModel.forward = mean if kind == "writer" else counted
    return MyModel(MyConfig())


def _tagged(testbed: Any, kind: str) -> list[dict[str, Any]]:
    ids = [testbed.randint(0, 32, 6, seed=number).cpu() for number in range(8)]
    if kind == "classifier":
        return [{"input_ids": id, "labels": id[0]} for id in ids]
    return [{"input_ids": id, "labels": id.clone()} for id in ids]
