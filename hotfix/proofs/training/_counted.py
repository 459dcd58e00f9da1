"""Texts of different lengths, all of whose tokens are labels, in micro-batches and in one padded batch."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Callable

import torch

from hotfix.proofs.testbed import Testbed
from hotfix.proofs.training._steps import one_step


def padded_ways(
    make_model: Callable[[], Any],
    samples: Sequence[dict[str, Any]],
    pads: str = "right",
    loss_function: Any = None,
    **settings: Any,
) -> dict[str, torch.Tensor]:
    """As `both_ways`, for samples of different lengths: the batch is padded, the micro-batches are not.

    Args:
        make_model: returns the same model at each call.
        samples: each with ``input_ids`` and ``labels``, int64 of shape ``(tokens,)``, or ``()`` for a class.
        pads: on which side: ``right`` or ``left``.
        loss_function: passed to the Trainer as ``compute_loss_func`` unless it is None.
        **settings: further `TrainingArguments`.
    """
    collator = partial(padded, pads=pads)
    results: dict[str, torch.Tensor] = {}
    for way, argument in (
        ("accumulated", "gradient_accumulation_steps"),
        ("whole batch", "per_device_train_batch_size"),
    ):
        arguments: dict[str, Any] = {**settings, argument: len(samples)}
        values = one_step(make_model(), samples, loss_function, collated(collator), **arguments)
        results.update({f"{way} {name}": value for name, value in values.items()})
    return results


def collated(collator: Callable[[Sequence[dict[str, Any]]], Any]) -> Callable[[Any], None]:
    """For `one_step`: the Trainer makes its batches with this collator."""

    def prepare(trainer: Any) -> None:
        trainer.data_collator = collator

    return prepare


def padded(samples: Sequence[dict[str, Any]], pads: str = "right") -> dict[str, torch.Tensor]:
    """A batch of samples of different lengths, as the collators for language models make it.

    Args:
        samples: as in `padded_ways`.
        pads: on which side.
    """
    longest = max(len(sample["input_ids"]) for sample in samples)

    def column(name: str, filled: int) -> torch.Tensor:
        rows = []
        for sample in samples:
            value = sample[name] if name in sample else torch.ones_like(sample["input_ids"])
            missing = longest - len(value) if value.dim() else 0
            around = (missing, 0) if pads == "left" else (0, missing)
            rows.append(torch.nn.functional.pad(value, around, value=filled) if value.dim() else value)
        return torch.stack(rows)

    return {"input_ids": column("input_ids", 0), "labels": column("labels", -100), "attention_mask": column("mask", 0)}


def whole_texts(testbed: Testbed, lengths: Sequence[int] = (10, 4, 7, 2)) -> list[dict[str, Any]]:
    """Texts of these many tokens; every token is a label, as in ``labels=input_ids.clone()``."""
    ids = [testbed.randint(0, 32, length, seed=length).cpu() for length in lengths]
    return [{"input_ids": row, "labels": row.clone()} for row in ids]
