"""Draws for the bugs of losses and of the Trainer: one optimizer step, its loss and its gradients."""

from __future__ import annotations

import os
from functools import partial
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import Any

from hotfix.proofs import zoo
from hotfix.proofs.training import (
    _counted,
    _data_parallel,
    _steps,
    _writers,
    shift_labels_dropped_by_heads,
    vision_lora_checkpointing_no_grad,
)
from hotfix.proofs.training.num_items_off_by_one import summed
from tools.studies.draws import Draw, Tensors, of

SAMPLES = 4


def _batches(draw: Draw) -> dict[str, Any]:
    """How many samples a micro-batch has, and how many of them a step; an epoch may have too few for a whole step."""
    size = draw.of("batch size", 1, 1, 2, 4)
    return {
        "per_device_train_batch_size": size,
        "gradient_accumulation_steps": draw.of("accumulation steps", 1, 2, 2, 3, 4),
    }


def _function(outputs: Any, labels: Any, num_items_in_batch: Any = None) -> Any:
    """A loss function of the user's that divides by the number of labels where it is given."""
    return summed({"logits": outputs["logits"].flatten(0, -2)}, labels.flatten(), num_items_in_batch)


def _texts(draw: Draw, labels: str) -> list[dict[str, Any]]:
    """Texts of different lengths whose labels are all of their tokens, or those behind a prompt."""
    lengths = draw.lengths("lengths", SAMPLES, draw.number("longest", 3, 10))
    samples = []
    for row, length in enumerate(lengths):
        length = max(length, 3)
        ids = draw.testbed.randint(3, 32, length, seed=10 * draw.seed + row).cpu()
        targets = ids.clone()
        if labels == "prompt":
            targets[: draw.number(f"prompt {row}", 1, length - 1)] = -100
        samples.append({"input_ids": ids, "labels": targets})
    return samples


@of(
    "num-items-off-by-one",
    "trainer-ga-multiplied-loss",
    "trainer-ga-num-items-dropped",
    "v5-trainer-ga-double-division",
    trains=True,
)
def a_step(draw: Draw) -> Tensors:
    """A Llama or a BERT, with the loss of the model or with a function of the user's."""
    kind = draw.of("model", "llama", "llama", "bert")
    function = _function if draw.of("loss", "model", "model", "function") == "function" else None
    if kind == "bert":
        samples, model = zoo.classified(draw.testbed), zoo.small_bert(draw.testbed)
    else:
        samples, model = _texts(draw, draw.of("labels", "all", "prompt")), zoo.small_llama(draw.testbed)
    collator = partial(_counted.padded, pads=draw.of("pads", "right", "left"))
    return _steps.one_step(model, samples, function, _counted.collated(collator), **_batches(draw))


@of("label-smoothing-by-micro-batch", trains=True)
def smoothed(draw: Draw) -> Tensors:
    """A Llama or a BERT, with or without label smoothing, perhaps with a loss function of the user's."""
    function = _function if draw.of("loss", "model", "model", "function") == "function" else None
    if draw.of("model", "llama", "llama", "bert") == "bert":
        samples, model = zoo.classified(draw.testbed), zoo.small_bert(draw.testbed)
    else:
        samples, model = _texts(draw, draw.of("labels", "all", "prompt")), zoo.small_llama(draw.testbed)
    settings = {"label_smoothing_factor": draw.of("smoothing", 0.0, 0.1, 0.3), **_batches(draw)}
    return _steps.one_step(model, samples, function, _counted.collated(_counted.padded), **settings)


@of("v5-num-items-undercount-seq2seq", trains=True)
def of_an_encoder_decoder(draw: Draw) -> Tensors:
    """A T5 or a Llama, with the loss of the model or with a function of the user's."""
    from transformers import T5ForConditionalGeneration

    function = _function if draw.of("loss", "model", "function") == "function" else None
    if draw.of("model", "t5", "t5", "llama") == "llama":
        samples, model = _texts(draw, draw.of("labels", "all", "prompt")), zoo.small_llama(draw.testbed)
        return _steps.one_step(model, samples, function, _counted.collated(_counted.padded), **_batches(draw))
    samples = zoo.samples_for(draw.testbed, T5ForConditionalGeneration)
    masked = draw.number("labels masked", 0, 3)
    for sample in samples:
        sample["decoder_input_ids"] = sample["labels"].roll(1).index_fill(0, sample["labels"].new_zeros(1), 0)
        sample["labels"][:masked] = -100
    model = zoo.trained(draw.testbed, T5ForConditionalGeneration)
    return _steps.one_step(model, samples, function, **_batches(draw))


@of("ga-loss-kwargs-swallowed-vlm", "ga-loss-kwargs-swallowed-seq2seq-v5", trains=True)
def of_the_class(draw: Draw) -> Tensors:
    """A model of one of the classes, or a Llama, with the loss of the model or with a function of the user's."""
    if draw.of("model", "class", "class", "class", "llama") == "llama":
        samples, model = _texts(draw, draw.of("labels", "all", "prompt")), zoo.small_llama(draw.testbed)
        return _steps.one_step(model, samples, None, _counted.collated(_counted.padded), **_batches(draw))
    cls = zoo.class_of(draw.target)
    return _steps.one_step(zoo.trained(draw.testbed, cls), zoo.samples_for(draw.testbed, cls), **_batches(draw))


@of("trainer-dp-loss-mean-num-items", trains=True)
def replicas(draw: Draw) -> Tensors:
    """A Llama or a BERT on one device, or on two."""
    bert = draw.of("model", "llama", "llama", "bert") == "bert"
    model = zoo.small_bert(draw.testbed) if bert else zoo.small_llama(draw.testbed)
    firsts = [draw.number(f"prompt {row}", 1, 7) for row in range(SAMPLES)]
    samples = zoo.classified(draw.testbed) if bert else zoo.texts(draw.testbed, firsts)
    size, two = draw.of("batch size", 1, 2), draw.of("devices", 1, 2, 2) == 2
    steps = {"per_device_train_batch_size": size, "gradient_accumulation_steps": draw.of("accumulation steps", 1, 2)}
    with _data_parallel.replicas_for_devices():
        return _steps.one_step(model, samples, prepare=_data_parallel.two_devices if two else None, **steps)


@of("deepspeed-double-gas-scaling", trains=True)
def under_deepspeed(draw: Draw) -> Tensors:
    """A Llama or a BERT under DeepSpeed's own engine."""
    import torch
    from transformers import Trainer, TrainingArguments

    kind = draw.of("model", "llama", "bert")
    function = _function if draw.of("loss", "model", "model", "function") == "function" else None
    if kind == "bert":
        samples, model = zoo.classified(draw.testbed), zoo.small_bert(draw.testbed)
    else:
        samples, model = _texts(draw, draw.of("labels", "all", "prompt")), zoo.small_llama(draw.testbed)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with TemporaryDirectory() as folder:
        descent: dict[str, Any] = {"optim": "sgd", "learning_rate": 1.0, "lr_scheduler_type": "constant"}
        steps: dict[str, Any] = {"max_steps": 1, "max_grad_norm": 0.0, **_batches(draw), **descent}
        quiet: dict[str, Any] = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True}
        trainer = Trainer(
            model=model,
            args=TrainingArguments(folder, deepspeed=_engine(), **steps, **quiet),
            data_collator=_counted.padded,
            train_dataset=samples,
            compute_loss_func=function,
        )
        loss = trainer.train().training_loss
    # DeepSpeed keeps the gradients to itself; where one step of plain descent goes tells them.
    moved = [first.detach() - other for first, other in zip(model.parameters(), before, strict=True)]
    return {"loss": torch.tensor(loss), "moved": torch.cat([parameter.flatten() for parameter in moved])}


def _engine() -> dict[str, Any]:
    """Settings of DeepSpeed for one process without a GPU."""
    if "MASTER_ADDR" not in os.environ:
        job = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "LOCAL_WORLD_SIZE": 1, "MASTER_PORT": _steps.free_port()}
        os.environ.update({name: str(value) for name, value in job.items()}, MASTER_ADDR="127.0.0.1")
        os.environ["DS_ACCELERATOR"] = "cpu"
        backend: Any = import_module("deepspeed.comm.torch")
        backend.build_shm_op = lambda: None  # ranks would talk through it; there is one
    sizes = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    return {**dict.fromkeys(sizes, "auto"), "zero_optimization": {"stage": 0}, "zero_allow_untested_optimizer": True}


@of("labels-shifted-twice", trains=True)
def written(draw: Draw) -> Tensors:
    """A model that writes, with labels or without, with the loss that it has or with another one."""
    model, inputs = _writers.writer(draw.testbed, zoo.class_of(draw.target))
    labels = inputs["labels"]
    labels[0, draw.number("labels", 2, 7) :] = -100
    if draw.of("given", "labels", "labels", "none") == "none":
        del inputs["labels"]
        if model.config.is_encoder_decoder:
            inputs["decoder_input_ids"] = labels.clamp(min=0)
        return {"logits": model(**inputs).logits}
    if draw.of("loss", "own", "own", "masked") == "masked":
        model.config.loss_type = model.loss_type = "ForMaskedLM"
    if draw.of("training", True, False):
        model.train()
    output = model(**inputs)
    output.loss.backward()
    return {"loss": output.loss, "logits": output.logits, "gradient": model.get_output_embeddings().weight.grad}


@of(
    "trainer-last-accumulation-remainder",
    trains=True,
    beside=("trainer-ga-num-items-dropped", "trainer-ddp-no-sync-inverted"),
)
def whole_epochs(draw: Draw) -> Tensors:
    """A Llama is trained for some epochs, or steps; the micro-batches of an epoch may fill its steps or not."""
    import torch

    model, seen = zoo.small_llama(draw.testbed), [0]
    trainers: list[Any] = []

    def count(*call: Any) -> None:
        seen[0] += 1

    model.register_forward_pre_hook(count)
    labels = draw.testbed.randint(0, 32, draw.number("samples", 3, 14), 5, seed=draw.seed).cpu()
    length: dict[str, Any] = {"num_train_epochs": draw.of("epochs", 0.5, 1, 2, 2), "max_steps": -1}
    if draw.of("given in", "epochs", "epochs", "steps") == "steps":
        length = {"max_steps": draw.number("steps", 1, 6)}
    results = _steps.one_step(
        model,
        [{"input_ids": label, "labels": label} for label in labels],
        prepare=trainers.append,
        per_device_train_batch_size=draw.of("batch size", 1, 2, 3),
        gradient_accumulation_steps=draw.of("accumulation steps", 1, 2, 3, 4),
        dataloader_drop_last=draw.of("drop last", False, False, False, True),
        **length,
    )
    state = trainers[0].state
    made = {"micro-batches": seen[0], "steps": state.global_step, "epochs": state.epoch}
    return {**results, **{name: torch.tensor(number) for name, number in made.items()}}


@of("shift-labels-dropped-by-heads", trains=True)
def moved_labels(draw: Draw) -> Tensors:
    """A text, or a part of one: its labels, labels that were moved before it was cut, both, or none."""
    import torch

    model = shift_labels_dropped_by_heads._model(draw.testbed, zoo.class_of(draw.target))
    if draw.of("training", True, False):
        model.train()
    rows, tokens = draw.number("rows", 1, 2), draw.number("tokens", 4, 12)
    ids = draw.testbed.randint(3, 50, rows, tokens, seed=draw.seed)
    labels = ids.clone()
    labels[:, : draw.number("prompt", 0, 2)] = -100
    labels[:, tokens - draw.of("masked at the end", 0, 0, 1, 2) :] = -100
    moved = torch.cat([labels[:, 1:], labels.new_full((rows, 1), -100)], dim=1)
    cut = {"the whole": slice(None), "the first half": slice(0, tokens // 2), "the second": slice(tokens // 2, None)}
    part = cut[draw.of("part", *cut)]
    given: dict[str, Any] = {"labels": labels[:, part], "shift_labels": moved[:, part].contiguous()}
    lacks = draw.of("lacks", "nothing", "nothing", "nothing", "labels", "moved labels", "None")
    if lacks == "None":
        given["shift_labels"] = None
    elif lacks != "nothing":
        del given["labels" if lacks == "labels" else "shift_labels"]
    output = model(ids[:, part], **given)
    if output.loss is None:
        return {"logits": output.logits}
    output.loss.backward()
    return {"loss": output.loss, "logits": output.logits, "gradient": model.get_output_embeddings().weight.grad}


@of("vision-lora-checkpointing-no-grad", trains=True)
def adapters(draw: Draw) -> Tensors:
    """A LLaVA in which the text, the tower, both or neither are trained in part, checkpointed in one way or another."""
    model, inputs = vision_lora_checkpointing_no_grad.llava(draw.testbed)
    trained = draw.of("trained", ("vision",), ("language",), ("vision", "language"))
    ending = draw.of("what", "q_proj.weight", "fc1.weight", "mlp.up_proj.weight", "position_embedding.weight")
    for name, parameter in model.named_parameters():
        part = "vision" if "vision" in name else "language"
        parameter.requires_grad_(name.endswith(ending) and part in trained)
    model.train()
    way = draw.of("checkpointed", "reentrant", "reentrant", "otherwise", "not")
    if way != "not":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": way == "reentrant"})
    model.enable_input_require_grads()
    logits = model(**inputs, use_cache=False).logits
    adapted = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    if logits.requires_grad:
        logits.float().logsumexp(-1).mean().backward()
    return {
        "logits": logits,
        **{name: parameter * 0 if parameter.grad is None else parameter.grad for name, parameter in adapted.items()},
    }
