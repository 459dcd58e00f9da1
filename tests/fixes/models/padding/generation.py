"""`generate` in a child: every way of decoding, on batches that are padded on the left, on the right, or not at all.

Prompts are as `LENGTHS` of the fix's case; everything is greedy where it is compared.
"""

from __future__ import annotations

import copy
import json
import os
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch

from hotfix.proofs.models import fa2_right_padding_check as fix

NEW = 5  # tokens

WAYS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True},
    "beam search": {"num_beams": 2},
    "beam sampling": {"num_beams": 2, "do_sample": True},
    "without cache": {"use_cache": False},
}


def prompts(testbed):
    """Token ids without padding, one tensor of shape (1, tokens) for each sample."""
    ids = testbed.randint(3, 32, len(fix.LENGTHS), max(fix.LENGTHS), seed=1)
    return [ids[row : row + 1, :length] for row, length in enumerate(fix.LENGTHS)]


def padded(samples, side):
    """One batch of them, with its attention mask; the padding token is 0."""
    longest = max(sample.shape[1] for sample in samples)
    rows, masks = [], []
    for sample in samples:
        room = longest - sample.shape[1]
        where = (room, 0) if side == "left" else (0, room)
        rows.append(torch.nn.functional.pad(sample, where))
        masks.append(torch.nn.functional.pad(torch.ones_like(sample), where))
    return {"input_ids": torch.cat(rows), "attention_mask": torch.cat(masks)}


class Watched:
    """A model whose forwards are counted."""

    def __init__(self, model):
        self.model, self.forwards = model, 0
        self.hook = model.register_forward_pre_hook(self.count)

    def count(self, *_):
        self.forwards += 1

    def generate(self, **given):
        given = {"max_new_tokens": NEW, "do_sample": False, "pad_token_id": 0, "eos_token_id": None, **given}
        self.model.generation_config.eos_token_id = None
        return self.model.generate(**given)


def target_of():
    module, _, qualname = os.environ["CASE_TARGETS"].partition(":")
    return SimpleNamespace(module=module, qualname=qualname)


def truth_table(testbed, target):
    """The outcome of every generation method with padding on either side.

    The last line of stdout: by way, the error and the number of forwards before it; None without an error.
    """
    target = target_of()
    model = fix.build(testbed, target)
    watched = Watched(model)
    samples = prompts(testbed)
    right, left = padded(samples, "right"), padded(samples, "left")
    embedded = {
        "inputs_embeds": model.get_input_embeddings()(right["input_ids"]).detach(),
        "attention_mask": right["attention_mask"],
    }
    one_right = {"input_ids": right["input_ids"][1:2], "attention_mask": right["attention_mask"][1:2]}
    assistant = {"assistant_model": copy.deepcopy(model)}
    eager = Watched(fix.build(testbed, target, attn="eager"))
    calls = {
        **{f"right, {way}": partial(watched.generate, **right, **how) for way, how in WAYS.items()},
        "right, no mask": partial(watched.generate, input_ids=right["input_ids"]),
        "right, embeddings": partial(watched.generate, **embedded),
        "right, assisted": partial(watched.generate, **one_right, **assistant),
        "right, eager": partial(eager.generate, **right),
        **{f"left, {way}": partial(watched.generate, **left, **how) for way, how in WAYS.items()},
        "left, no mask": partial(watched.generate, input_ids=left["input_ids"]),
        "one, greedy": partial(watched.generate, input_ids=samples[1]),
        "one, assisted": partial(watched.generate, input_ids=samples[1], **assistant),
        "full mask": partial(
            watched.generate, input_ids=right["input_ids"][:1], attention_mask=right["attention_mask"][:1]
        ),
    }
    errors: dict[str, list[object] | None] = {}
    results = {}
    for name, call in calls.items():
        watched.forwards = 0
        try:
            results[name] = call()
            errors[name] = None
        except Exception as error:
            errors[name] = [type(error).__name__, str(error), watched.forwards]
    for row, sample in enumerate(samples):
        results[f"alone {row}"] = watched.generate(input_ids=sample)[:, sample.shape[1] :]
    try:
        results["by hand"] = by_hand(model, right)
        errors["by hand"] = None
    except Exception as error:  # a handler of the very error would take precedence over the repair
        errors["by hand"] = [type(error).__name__, str(error), watched.forwards]
    print(json.dumps(errors))
    return results


def by_hand(model, batch):
    """Greedy decoding from a right-padded prefill, reading the last real token."""
    mask, lengths = batch["attention_mask"], batch["attention_mask"].sum(1)
    with torch.no_grad():
        out = model(**batch, use_cache=True)
        new = [out.logits[torch.arange(len(mask)), lengths - 1].argmax(-1)]
        for step in range(NEW - 1):
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], 1)
            out = model(
                input_ids=new[-1][:, None],
                attention_mask=mask,
                position_ids=(lengths + step)[:, None],
                past_key_values=out.past_key_values,
                use_cache=True,
            )
            new.append(out.logits[:, -1].argmax(-1))
    return torch.stack(new, 1)


def twice(testbed, target):
    """Two right-padded generations, one left-padded: the log and the output (under HOTFIX_PADDING=warn)."""
    watched = Watched(fix.build(testbed, target_of()))
    right = padded(prompts(testbed), "right")
    return {"first": watched.generate(**right), "second": watched.generate(input_ids=right["input_ids"])}
