"""The case of `fa2-right-padding-check`."""

import inspect
from importlib import import_module
from typing import Any

import torch

from hotfix.models.fa2_right_padding_check import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import cached

LENGTHS = (9, 5, 2)  # tokens of each sample of the batch


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """One forward and backward of a right-padded batch: outputs on real tokens, loss, gradients of weights."""
    model = build(testbed, target)
    results = run(testbed, target, model, LENGTHS)
    testbed.assert_flash("flash_attn_varlen_func", "flash_attn_varlen_func backward")
    return {**results, **gradients(model)}


def build(testbed: Testbed, target: Target, attn: str = "flash_attention_2") -> Any:
    """The small model of a target's family, in bfloat16."""
    return cached(testbed, target.module, target.qualname.partition(".")[0], attn=attn)


def run(
    testbed: Testbed, target: Target, model: Any, lengths: tuple[int, ...], row: int = 0, use_cache: bool = True
) -> dict[str, torch.Tensor]:
    """Run samples of the batch, padded on the right, and go back through the loss.

    Args:
        testbed: gives the numbers.
        target: whose family `model` is of.
        model: from `build`.
        lengths: of the samples, in tokens.
        row: which sample of the whole batch the first one is.
        use_cache: as the model's forward takes it.

    Returns:
        ``outputs``: logits (or last hidden states) of the real tokens, (tokens, width). ``loss``: cross entropy of the
        next token, summed over the tokens of `lengths` and divided by their number in the whole batch.
    """
    kind = target.qualname.partition(".")[0]
    batch, longest = slice(row, row + len(lengths)), max(lengths)
    ids = testbed.randint(3, 32, len(LENGTHS), max(LENGTHS), seed=1)[batch, :longest]
    mask = torch.stack([torch.arange(longest) < length for length in lengths]).long().to(ids.device)
    embedded = testbed.randn(len(LENGTHS), max(LENGTHS), 64, dtype=torch.bfloat16, seed=2)[batch, :longest]
    given: dict[str, Any] = {"attention_mask": mask, "use_cache": use_cache}
    if kind == "MimiTransformerModel":
        model, given["hidden_states"] = model.decoder_transformer, embedded
    elif kind == "MoshiDepthDecoder":
        given.update(input_ids=ids, last_hidden_state=embedded)
    elif kind == "KyutaiSpeechToTextModel":
        codes = testbed.randint(0, 32, len(LENGTHS), max(LENGTHS), 4, seed=3)[batch, :longest]
        given["input_ids"] = torch.cat([ids[..., None], codes], dim=-1)
    else:
        given["input_ids"] = ids
    if use_cache and kind in ("KyutaiSpeechToTextModel", "MoshiModel"):
        # From 4.54.0 on they make their own cache after the place of the check.
        given["past_key_values"] = import_module("transformers").DynamicCache()
    if "labels" in inspect.signature(model.forward).parameters:
        given["labels"] = ids.masked_fill(mask == 0, -100)
    returned = model(**given)
    if (returned.past_key_values is not None) is not use_cache:
        raise AssertionError(f"{type(model).__name__} under use_cache={use_cache}: {returned.past_key_values}")
    outputs = returned["logits"] if "logits" in returned else returned["last_hidden_state"]
    scores = outputs.float()
    if "logits" not in returned:
        scores = scores @ testbed.randn(scores.shape[-1], 64, seed=4) / scores.shape[-1] ** 0.5
    following = ids[:, 1:].masked_fill(mask[:, 1:] == 0, -100)
    loss = torch.nn.functional.cross_entropy(scores[:, :-1].flatten(0, 1), following.flatten(), reduction="sum")
    loss = loss / sum(length - 1 for length in LENGTHS)
    loss.backward()
    return {"outputs": outputs[mask.bool()], "loss": loss}


def gradients(model: Any) -> dict[str, torch.Tensor]:
    """The gradients of the weight matrices of the last layer and of the embedding, by their own names."""
    held = {name: p.grad for name, p in model.named_parameters() if p.grad is not None and p.ndim > 1}
    named = {f"gradient {name.rpartition('layers.')[2]}": grad for name, grad in held.items() if "layers.1." in name}
    embedding = [grad for name, grad in held.items() if "embed" in name]
    return {**named, **({"gradient embedding": embedding[0]} if embedding else {})}
