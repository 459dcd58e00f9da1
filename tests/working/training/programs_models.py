"""Programs with custom models, checkpoints and copies of the loop, which are correct in stock."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hotfix.proofs.training._writers import writer
from hotfix.proofs.zoo import class_of, small_llama, texts
from tests.working.training.programs import cross_entropy, own_loss, step


def own_classes(testbed, target):
    """Custom models that divide by the number of labels without shifting them: text classes, and token tags."""
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class Own(PreTrainedModel):
        config_class = PretrainedConfig

        def __init__(self, config, tags):
            super().__init__(config)
            self.words, self.head, self.tags = torch.nn.Embedding(32, 8), torch.nn.Linear(8, 3), tags
            self.post_init()

        def _init_weights(self, module):
            pass

        def forward(self, input_ids, labels=None, num_items_in_batch=None, **kwargs):
            hidden = self.words(input_ids)
            logits = self.head(hidden if self.tags else hidden.mean(1))
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="sum")
            return {"loss": loss / (num_items_in_batch or labels.numel()), "logits": logits}

    ids = testbed.randint(0, 32, 8, 5, seed=1).cpu()
    results = {}
    for tags in (False, True):
        labels = testbed.randint(0, 3, *((8, 5) if tags else (8,)), seed=2).cpu()
        samples = [{"input_ids": first, "labels": label} for first, label in zip(ids, labels)]
        for rows in (1, 2, 8):
            arguments = {"per_device_train_batch_size": rows, "gradient_accumulation_steps": 8 // rows}
            model = testbed.fill(Own(PretrainedConfig(), tags))
            results.update({f"{tags}, {rows}: {name}": value for name, value in step(model, samples, **arguments)})
    return results


def own_losses_of_a_mamba(testbed, target):
    """A model that ignores the number, with losses that use it; ragged texts."""
    results = {}
    samples = texts(testbed, (7, 4, 2, 1))

    def by_the_number(trainer, outputs, labels, number):
        return cross_entropy(outputs, labels, "sum") / number

    def by_the_number_or_steps(trainer, outputs, labels, number):
        if number is not None:
            return cross_entropy(outputs, labels, "sum") / number
        return cross_entropy(outputs, labels) / trainer.args.gradient_accumulation_steps

    ways = {
        "number": {"make": own_loss(by_the_number)},
        "number or steps": {"make": own_loss(by_the_number_or_steps)},
        "forward on the instance": {"prepare_model": _takes_the_number},
    }
    for way, options in ways.items():
        model = _mamba(testbed)
        options.pop("prepare_model", lambda model: None)(model)
        results.update(
            {f"{way}: {name}": value for name, value in step(model, samples, gradient_accumulation_steps=4, **options)}
        )
    results["asked"] = _asked(_mamba(testbed))
    return results


def plain_mamba(testbed, target):
    """The broken program, in micro-batches and in one batch, with a Trainer that keeps a metric, too."""
    from tests.working.training.programs import passing

    results = {}
    for way, make in (("plain", None), ("passing", passing)):
        for name, arguments in (
            ("micro", {"gradient_accumulation_steps": 4}),
            ("whole", {"per_device_train_batch_size": 4}),
        ):
            values = step(_mamba(testbed), texts(testbed, (1, 1, 1, 1)), make=make, **arguments)
            results.update({f"{way}: {name} {key}": value for key, value in values})
    return results


def _mamba(testbed):
    from transformers import MambaConfig, MambaForCausalLM

    return testbed.fill(
        MambaForCausalLM(
            MambaConfig(
                vocab_size=32, hidden_size=16, state_size=4, num_hidden_layers=1, conv_kernel=2, time_step_rank=2,
                pad_token_id=0, bos_token_id=1, eos_token_id=2,
            )
        )
    )  # fmt: skip


def _takes_the_number(model):
    forward = model.forward

    def own(input_ids=None, labels=None, num_items_in_batch=None, **kwargs):
        logits = forward(input_ids=input_ids).logits
        loss = cross_entropy({"logits": logits}, labels, "sum") / (num_items_in_batch or 1)
        return {"loss": loss, "logits": logits}

    model.forward = own


def _asked(model):
    import copy

    import torch

    name = "accepts_loss_kwargs"
    answers = [hasattr(model, name), hasattr(type(model), name), getattr(model, name, True), name in vars(model)]
    return torch.tensor([*answers, hasattr(copy.deepcopy(model), name)])


def a_wrapper_that_refuses_the_number(testbed, target):
    """``forward(**kwargs)`` around a BERT."""
    import torch

    from hotfix.proofs.zoo import classified, small_bert

    class Wrapper(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, **kwargs):
            return self.inner(**kwargs)

    results = {}
    for way, make in (("divides", own_loss(_divided)), ("plain", None)):
        model = Wrapper(small_bert(testbed))
        values = step(model, classified(testbed), make=make, gradient_accumulation_steps=4, remove_unused_columns=False)
        results.update({f"{way}: {name}": value for name, value in values})
    whole = step(
        Wrapper(small_bert(testbed)), classified(testbed), per_device_train_batch_size=4, remove_unused_columns=False
    )
    results.update({f"whole: {name}": value for name, value in whole})
    return results


def _divided(trainer, outputs, labels, number):
    return cross_entropy(outputs, labels) / trainer.args.gradient_accumulation_steps


def a_copy_of_the_loop(testbed, target):
    """As in unsloth: the source of the loop is executed again, and replaces the loop."""
    import inspect
    import textwrap

    import torch
    from transformers import Trainer, trainer

    source = textwrap.dedent(inspect.getsource(Trainer._inner_training_loop))
    namespace = dict(vars(trainer))
    exec(source, namespace)
    Trainer._inner_training_loop = namespace["_inner_training_loop"]
    return {name: torch.as_tensor(value) for name, value in _epochs(testbed).items()}


def _epochs(testbed, epochs=2, **arguments):
    """Seven micro-batches per epoch, four per step: the result of the run, and the number of micro-batches it read."""
    seen: list[int] = []
    model = small_llama(testbed)
    model.register_forward_pre_hook(lambda *call: seen.append(1))
    trainers: list[Any] = []
    resumed = arguments.pop("resumed", None)
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(testbed, model, arguments.pop("folder", folder), epochs, **arguments)
        trainers.append(trainer)
        trainer.train(resume_from_checkpoint=resumed)
    state = trainers[0].state
    return {
        "micro-batches": len(seen),
        "steps": state.global_step,
        "planned": state.max_steps,
        "epoch": state.epoch,
        "rate": trainers[0].lr_scheduler.get_last_lr()[0],
    }


def _trainer(testbed, model, folder, epochs, **arguments):
    from transformers import Trainer, TrainingArguments

    settings = {
        "per_device_train_batch_size": 2, "gradient_accumulation_steps": 4, "num_train_epochs": epochs,
        "report_to": [], "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, **arguments,
    }  # fmt: skip
    ids = testbed.randint(0, 32, 13, 9, seed=3).cpu()
    return Trainer(
        model=model,
        args=TrainingArguments(str(folder), **settings),
        train_dataset=[{"input_ids": id, "labels": id.clone()} for id in ids],
    )


def resumed_from_stock(testbed, target):
    """A run of three epochs, planned by stock with one step per epoch, resumed after the second."""
    import torch

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint-2"
        trainer = _trainer(testbed, small_llama(testbed), folder, 3, save_only_model=False)
        trainer.create_optimizer_and_scheduler(3)
        checkpoint.mkdir()
        trainer.save_model(str(checkpoint))
        torch.save(trainer.optimizer.state_dict(), checkpoint / "optimizer.pt")
        torch.save(trainer.lr_scheduler.state_dict(), checkpoint / "scheduler.pt")
        state = json.loads(json.dumps(vars(trainer.state), default=lambda value: None))
        # One step of four micro-batches per epoch, out of seven.
        state.update(
            global_step=2, epoch=1 + 4 / 7, max_steps=3, num_train_epochs=3, log_history=[], train_batch_size=2
        )
        (checkpoint / "trainer_state.json").write_text(json.dumps(state), encoding="utf-8")
        resumed = _epochs(testbed, 3, resumed=str(checkpoint), folder=folder)
    return {name: torch.as_tensor(value) for name, value in resumed.items()}


def losses_of_a_writer(testbed, target):
    """Labels that are not contiguous, and tokens that are predicted at their own position."""
    import torch

    place = SimpleNamespace(
        module="transformers.models.vision_encoder_decoder.modeling_vision_encoder_decoder",
        qualname="VisionEncoderDecoderModel.forward",
    )
    model, inputs = writer(testbed, class_of(place))
    ids = inputs.pop("labels").abs() % 40  # some are masked
    wide = torch.cat([ids[:, :1], ids], 1)
    losses = {
        "copied": model(**inputs, decoder_input_ids=ids, labels=ids).loss,
        "copied and masked": model(
            **inputs, decoder_input_ids=ids, labels=torch.where(torch.arange(ids.shape[1]) < 2, -100, ids)
        ).loss,
        "contiguous": model(**inputs, labels=ids).loss,
        "not contiguous": model(**inputs, labels=wide[:, 1:]).loss,
    }
    moved = torch.cat([torch.full_like(ids[:, :1], model.config.decoder_start_token_id), ids[:, :-1]], 1)
    losses["moved by hand"] = model(**inputs, decoder_input_ids=moved, labels=ids).loss
    return losses


def allowed_before(testbed, target):
    """The published workaround allowlists numpy's types by hand, once; later reads need them, too."""
    import numpy
    import torch

    parts = [numpy.empty(0).__reduce__()[0], numpy.ndarray, numpy.dtype, type(numpy.dtype(numpy.uint32))]
    facts = {}
    torch.serialization.clear_safe_globals()
    torch.serialization.add_safe_globals(parts if target is None else parts[1:3])
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(testbed, small_llama(testbed), folder, 1)
        before = {str(function) for function in torch.serialization.get_safe_globals()}
        trainer._save_rng_state(folder)
        trainer._load_rng_state(folder)
        facts["read"] = torch.rand(())
    facts["allowed"] = torch.tensor({str(function) for function in torch.serialization.get_safe_globals()} == before)
    return facts


def where_it_writes(testbed, target):
    """The folder of a single process's checkpoint: its content while it is incomplete."""
    import torch
    from transformers import Trainer

    class Watched(Trainer):
        def _save_rng_state(self, output_dir):
            super()._save_rng_state(output_dir)
            self.seen = sorted(os.listdir(Path(output_dir).parent))

    with tempfile.TemporaryDirectory() as folder:
        from transformers import TrainingArguments

        settings = TrainingArguments(
            folder, max_steps=1, save_steps=1, per_device_train_batch_size=1, use_cpu=True, report_to=[],
            disable_tqdm=True,
        )  # fmt: skip
        trainer = Watched(model=small_llama(testbed), args=settings, train_dataset=texts(testbed, (1, 1, 1, 1)))
        trainer.train()
        left = sorted(os.listdir(folder))
    return {
        "seen": torch.tensor(list("".join(trainer.seen).encode())),
        "left": torch.tensor(list("".join(left).encode())),
    }


def a_tower_that_is_written_into(testbed, target):
    """A part with embeddings known only by name, which writes into them: gradients under checkpointing."""
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    class Tower(PreTrainedModel):
        config_class = PretrainedConfig
        supports_gradient_checkpointing = True

        def __init__(self, config):
            super().__init__(config)
            self.patch_embed, self.block = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
            self.gradient_checkpointing = False

        def forward(self, pixels):
            hidden = self.patch_embed(pixels)
            hidden[:, 0] = hidden[:, 0] * 2
            return self._gradient_checkpointing_func(self.block.__call__, hidden)

    class Whole(PreTrainedModel):
        config_class = PretrainedConfig
        supports_gradient_checkpointing = True

        def __init__(self, config):
            super().__init__(config)
            self.words, self.tower, self.head = torch.nn.Embedding(8, 4), Tower(config), torch.nn.Linear(4, 4)

        def get_input_embeddings(self):
            return self.words

        def forward(self, ids, pixels):
            return self.head(self.words(ids) + self.tower(pixels)).square().mean()

    model = testbed.fill(Whole(PretrainedConfig())).train()
    for name, value in model.named_parameters():
        value.requires_grad_(name.startswith(("head", "tower.block")))
    model.gradient_checkpointing_enable({"use_reentrant": True})
    model.enable_input_require_grads()
    pixels = testbed.randn(2, 3, 4, seed=5).requires_grad_(target is not None)  # a reader that has a gradient in stock
    model(torch.ones(2, 3, dtype=torch.long), pixels).backward()
    grads = {name: value.grad for name, value in model.named_parameters() if value.grad is not None}
    model.eval()
    grads["wants a gradient when it is read"] = torch.tensor(model.tower.patch_embed(pixels.detach()).requires_grad)
    return grads
