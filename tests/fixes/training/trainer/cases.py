"""Cases of the Trainer's fixes: a step in micro-batches and in one batch, on one rank and on two.

A kind is how a loss is normalized: an encoder takes the mean over its batch; a decoder divides by the number of labels
that the Trainer gives it; a loss function of the user's does the same, and takes the mean where it is given none.
"""

from __future__ import annotations

import tempfile
from functools import partial
from types import SimpleNamespace
from typing import Any

from hotfix.proofs.training._counted import padded_ways, whole_texts
from hotfix.proofs.training._old_trainers import trained_with
from hotfix.proofs.training._steps import both_ways as loss_and_gradients
from hotfix.proofs.training._steps import compared, on_two_ranks, one_step
from hotfix.proofs.zoo import classified, samples_for, small_bert, small_llama, texts, trained

KINDS = ("encoder", "decoder", "decoder with a loss function", "encoder with a loss function")
DECODERS = KINDS[1:3]


def every_kind(testbed, target):
    """``KIND: accumulated …`` and ``KIND: whole batch …``, as `one_step` names it."""
    kinds = KINDS if target is None else target.qualname.split(", ")
    return {f"{kind}: {name}": value for kind in kinds for name, value in both_ways(testbed, kind).items()}


def both_ways(testbed, kind):
    loss = summed_or_mean if "loss function" in kind else None
    make, data = (small_llama, texts(testbed)) if "decoder" in kind else (small_bert, classified(testbed))
    step = partial(one_step, samples=data, loss_function=loss)
    results = {
        "accumulated": step(make(testbed), gradient_accumulation_steps=len(data)),
        "whole batch": step(make(testbed), per_device_train_batch_size=len(data)),
    }
    return {f"{way} {name}": value for way, values in results.items() for name, value in values.items()}


def with_an_old_override(testbed, target):
    """Texts with equally many labels, both ways, with a ``compute_loss`` that was written before 4.46."""

    def old(trainer: Any) -> type:
        class Old(trainer):
            def compute_loss(self, model, inputs, return_outputs=False):
                outputs = model(**inputs)
                return (outputs.loss, outputs) if return_outputs else outputs.loss

        return Old

    with trained_with(old):
        return loss_and_gradients(lambda: small_llama(testbed), texts(testbed, (1, 1, 1, 1)))


def summed_or_mean(outputs, labels, num_items_in_batch=None):
    """A user's loss function, as the documentation of ``compute_loss_func`` wants it."""
    from torch.nn.functional import cross_entropy

    logits = outputs["logits"]
    if labels.dim() > 1:
        logits, labels = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
    reduction = "mean" if num_items_in_batch is None else "sum"
    return cross_entropy(logits.float(), labels, reduction=reduction) / (num_items_in_batch or 1)


def ranks_and_one_process(testbed, target):
    """Two ranks with two micro-batches of one sample each, and one process with one batch of all four.

    Returns:
        ``KIND, rank RANK: …`` and ``KIND, whole batch: …``.
    """
    kinds = {
        "encoder": (small_bert, classified(testbed)),
        "decoder": (small_llama, texts(testbed, (1, 1, 1, 1))),
    }

    def train(rank):
        gradients = {}
        for kind, (make, data) in kinds.items():
            values = one_step(make(testbed), data, gradient_accumulation_steps=2, ddp_backend="gloo")
            gradients.update({f"{kind}, rank {rank}: {name}": value for name, value in values.items()})
        return gradients

    results = on_two_ranks(train)  # first: later code starts threads, and threads do not survive a fork
    for kind, (make, data) in kinds.items():
        values = one_step(make(testbed), data, per_device_train_batch_size=len(data))
        results.update({f"{kind}, whole batch: {name}": value for name, value in values.items()})
    return results


def applied_and_reverted(testbed, target):
    """Put two fixes on one function, take them out in the order in which they came, and compare its code each time."""
    import torch
    from transformers import Trainer

    import hotfix

    function = Trainer.training_step
    stock = function.__code__

    def alone(fix):
        with hotfix.apply(only=[fix]):
            return function.__code__

    fixes = ("trainer-ga-multiplied-loss", "trainer-ga-num-items-dropped")
    first, second = alone(fixes[0]), alone(fixes[1])
    handles = [hotfix.apply(only=[fix]) for fix in fixes]
    both = function.__code__
    handles[0].revert()
    left = function.__code__
    handles[1].revert()
    facts = {
        "each changes it": len({stock, first, second, both}) == 4,
        "the other stays": left == second,
        "nothing stays": function.__code__ is stock,
        "it is the same function": Trainer.training_step is function,
        "it stands where it stood": both.co_filename == stock.co_filename
        and {line for *_, line in both.co_lines() if line} <= {line for *_, line in stock.co_lines() if line},
        "it takes what it took": both.co_varnames[: both.co_argcount] == stock.co_varnames[: stock.co_argcount],
    }
    return {name: torch.tensor(value) for name, value in facts.items()}


def under_an_engine(testbed, target):
    """`Trainer.training_step` over a substitute for DeepSpeed, whose engine divides in its own backward pass.

    Returns:
        The loss that the engine gets and the reported one, for a mean loss of 8 in four micro-batches; and whether a
        model that accepts the number of labels gets it.
    """
    import torch
    from accelerate.utils import DistributedType
    from transformers import Trainer, TrainingArguments

    given: list[Any] = []
    numbers: list[Any] = []
    accelerator = SimpleNamespace(
        distributed_type=DistributedType.DEEPSPEED,
        gradient_accumulation_steps=1,
        backward=given.append,
        unwrap_model=lambda model, **how: model,
    )

    def compute_loss(model, inputs, num_items_in_batch=None):
        numbers.append(num_items_in_batch)
        return torch.full((2,), 8.0, requires_grad=True).mean()

    reported = []
    for model, number in ((small_bert(testbed), None), (small_llama(testbed), 5)):
        arguments = TrainingArguments("unused", gradient_accumulation_steps=4, use_cpu=True, report_to=[])
        trainer = Trainer(model=model, args=arguments)
        trainer.accelerator, trainer.optimizer, trainer.compute_loss = accelerator, None, compute_loss
        reported.append(trainer.training_step(model, {"input_ids": torch.zeros(1)}, number))
    return {"given": given[0], "reported": reported[0], "told": torch.tensor(numbers[1] is not None)}


def composed(testbed, target):
    """An encoder and a decoder in one model, which hands all that it does not know to the encoder."""
    from transformers import BertConfig, EncoderDecoderConfig, EncoderDecoderModel

    part = BertConfig(
        vocab_size=32, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    config = EncoderDecoderConfig.from_encoder_decoder_configs(part, part, decoder_start_token_id=1, pad_token_id=0)
    results = {}
    for steps in (1, 4):
        model = testbed.fill(EncoderDecoderModel(config=config))
        values = one_step(model, texts(testbed), gradient_accumulation_steps=steps)
        results.update({f"{steps}: {name}": value for name, value in values.items()})
    return results


def divided_once(testbed, target):
    """Micro-batches and one batch without the fix, with it, and when it has been taken out.

    Returns:
        ``WHEN, KIND: accumulated …`` and ``WHEN, KIND: whole batch …``. The kind "number in a dictionary" is a decoder,
        with the number of micro-batches in ``accelerator_config``.
    """
    import torch
    from transformers import Trainer

    import hotfix

    function = Trainer.training_step
    stock, reported = function.__code__, {}

    def measure(when):
        reported.update({f"{when}, {name}": value for name, value in every_kind(testbed, decoders).items()})
        settings = {"num_steps": 4, "sync_each_batch": False}
        values = one_step(
            small_llama(testbed), texts(testbed), accelerator_config={"gradient_accumulation_kwargs": settings}
        )
        reported.update(
            {f"{when}, number in a dictionary: accumulated {name}": value for name, value in values.items()}
        )
        whole = {name: value for name, value in reported.items() if name.startswith(f"{when}, decoder: whole batch")}
        reported.update({name.replace("decoder", "number in a dictionary"): value for name, value in whole.items()})
        reported[f"{when}, the dictionary is as it was"] = torch.tensor(
            settings == {"num_steps": 4, "sync_each_batch": False}
        )

    decoders = SimpleNamespace(qualname=", ".join(KINDS[:3]))
    measure("before")
    with hotfix.apply(only=["v5-trainer-ga-double-division"]):
        measure("after")
    reported["nothing stays"] = torch.tensor(function is Trainer.training_step and function.__code__ is stock)
    return reported


def swallowed(testbed, target):
    """Factors of `compared` for a model that swallows the number, in the situations that its fix is about.

    Returns:
        ``WHEN: …``: before, with the fix, with a low-rank adapter around the model, and when it has been taken out.
        ``… is …``: everything that must not change is as before.
    """
    import peft
    import torch
    import transformers
    from transformers.models.llava import modeling_llava as module

    import hotfix

    kind: Any = module.LlavaForConditionalGeneration
    stock, results = kind.__init__.__code__, {}
    data = samples_for(testbed, kind)
    make = partial(trained, testbed, kind)

    def adapted():
        settings = peft.LoraConfig(target_modules=["q_proj"], init_lora_weights=False, r=2)
        torch.manual_seed(0)
        return peft.get_peft_model(make(), settings)

    def measure(when, make):
        results.update({f"{when}: {name}": value for name, value in compared(make, data).items()})

    def alone():
        values = one_step(make(), data, per_device_train_batch_size=4)
        with_function = one_step(make(), data, summed_or_mean, gradient_accumulation_steps=4)
        return [*values.values(), *with_function.values()]

    class Own(kind):
        def forward(self, *args, num_items_in_batch=None, **kwargs):
            outputs = super().forward(*args, **kwargs)
            outputs.loss = outputs.loss * 1
            return outputs

    class Inheriting(kind):
        pass

    def says(some, micro_batches=2):
        model = some(make().config)
        assert not hasattr(model, "accepts_loss_kwargs")  # of anybody but a Trainer
        options = {"gradient_accumulation_steps": micro_batches, "use_cpu": True, "report_to": []}
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(folder, **options)
            trainer = transformers.Trainer(model=model, args=arguments)
            return bool(trainer.model_accepts_loss_kwargs)

    measure("before", make)
    before = alone()
    with hotfix.apply(only=["ga-loss-kwargs-swallowed-vlm"]):
        measure("after", make)
        measure("adapted", adapted)
        results["one batch, and a loss function of one's own, is as before"] = torch.tensor(
            all(loss.equal(other) for loss, other in zip(before, alone()))
        )
        results["a subclass without a forward is repaired"] = torch.tensor(says(Inheriting) is False)
        results["a subclass with a forward is left alone"] = torch.tensor(says(Own) is True)
        results["one micro-batch is as before"] = torch.tensor(says(Inheriting, micro_batches=1) is True)
        original = kind.forward
        kind.forward = lambda self, *args, **kwargs: original(self, *args, **kwargs)
        results["a forward that is not the class's is left alone"] = torch.tensor(says(kind) is True)
        kind.forward = original
    measure("reverted", make)
    results["its code is what it was"] = torch.tensor(kind.__init__.__code__ is stock)
    return results


def swallowed_and_divided(testbed, target):
    """`every_kind`, and models that swallow the number, where Accelerate divides as well; all fixes may be armed."""
    from importlib import import_module

    results = every_kind(testbed, SimpleNamespace(qualname=", ".join(KINDS[:3])))
    for kind, name in (("vipllava", "VipLlavaForConditionalGeneration"), ("t5", "T5ForConditionalGeneration")):
        cls = getattr(import_module(f"transformers.models.{kind}.modeling_{kind}"), name)
        ways: dict[str, dict[str, Any]] = {
            "accumulated": {"gradient_accumulation_steps": 4},
            "whole batch": {"per_device_train_batch_size": 4},
        }
        for way, steps in ways.items():
            values = one_step(trained(testbed, cls), samples_for(testbed, cls), **steps)
            results.update({f"{kind}: {way} {parameter}": value for parameter, value in values.items()})
    return results


def whole_texts_both_ways(testbed, target):
    """Texts of ten, four, seven and two tokens, all of them labels, in four micro-batches and in one padded batch.

    Returns:
        ``SIDE: accumulated …`` and ``SIDE: whole batch …`` for padding on the right and on the left, of a Llama. On the
        left the first label of each text is masked: in a batch it would be predicted from the padding before it.
    """
    results = {}
    for side in ("right", "left"):
        data = whole_texts(testbed)
        for sample in data:
            sample["labels"][: side == "left"] = -100
        ways = padded_ways(partial(small_llama, testbed), data, pads=side)
        results.update({f"{side}: {name}": value for name, value in ways.items()})
    return results
