"""Positions of the small models of Qwen in `hotfix.proofs.zoo`, and the results that depend on them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import hotfix
from hotfix.patching import live
from hotfix.proofs import zoo
from hotfix.proofs.models import qwen2vl_decode_delta_left_padding
from tests.fixes.models.qwen.twice import IN_PLACE, before_and_after

VIDEOS = (
    "qwen25vl-image-temporal-positions",
    "qwen25vl-second-per-grid-int-truncation",
    "qwen25vl-v5-temporal-position-collapse",
)
RATES = (60.0, 30.0, 24.0, 12.5, 7.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.7)  # frames a second; two of them make one of tokens


@before_and_after("qwen2vl-text-position-ids-from-mrope")
def masked(testbed, target):
    """A decoder and three rows of positions, against eager attention with a causal mask of the test's own.

    Returns:
        ``eager`` is the reference, in float32. ``packed`` is how two texts in one row come out whose positions are
        given in one plane, ``apart`` how they come out one after the other.
    """
    import torch

    results = {}
    ways: dict[str, tuple[str, torch.dtype, dict[str, Any]]] = {
        "eager": ("eager", torch.float32, {"attention_mask": None}),
        "eager without a mask": ("eager", torch.float32, {}),
        "sdpa": ("sdpa", torch.float32, {}),
        "flash": ("flash_attention_2", torch.bfloat16, {}),
        "flash with a cache": ("flash_attention_2", torch.bfloat16, {"use_cache": True}),
    }
    for name, (attn, dtype, arguments) in ways.items():
        model = zoo.qwen_decoder(testbed, target, attn, dtype)
        for where, words in (("", 3), (", image first", 0)):
            positions = zoo.qwen_image_positions(words)
            tokens = positions.shape[-1]
            if name == "eager":
                arguments["attention_mask"] = torch.full((1, 1, tokens, tokens), torch.finfo(dtype).min).triu(1)
            inputs = {"inputs_embeds": testbed.randn(1, tokens, 64, dtype=dtype, seed=1), "position_ids": positions}
            with torch.no_grad():
                results[name + where] = model(**inputs, **{"use_cache": False, **arguments}).last_hidden_state
    testbed.assert_flash()
    texts = testbed.randn(1, 9, 64, seed=2)
    model = zoo.qwen_decoder(testbed, target, "sdpa", torch.float32)
    packed = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3]])
    with torch.no_grad():
        results["packed"] = model(inputs_embeds=texts, position_ids=packed, use_cache=False).last_hidden_state
        pieces = [model(inputs_embeds=piece, use_cache=False).last_hidden_state for piece in texts.split((5, 4), dim=1)]
    return {**results, "apart": torch.cat(pieces, dim=1)}


@before_and_after("qwen2vl-decode-delta-left-padding")
def one_by_one(testbed, target):
    """Tokens that the prompts of the case are continued with in a batch, and each alone."""
    import torch

    model = zoo.qwen_vl(
        testbed, getattr(import_module(target.module), target.qualname.partition(".")[0]), torch.float32
    )
    ids, mask, grids = qwen2vl_decode_delta_left_padding.prompts(testbed)
    alone = []
    images = iter(grids)
    for row, real in zip(ids, mask.bool()):
        prompt = row[None, real]
        own = next(images)[None] if (prompt == zoo.QWEN_IMAGE).any() else None
        alone.append(qwen2vl_decode_delta_left_padding.generated(model, prompt, torch.ones_like(prompt), own)["tokens"])
    batch = qwen2vl_decode_delta_left_padding.generated(model, ids, mask, grids)["tokens"]
    return {"batch": batch, "alone": torch.cat(alone)}


def _or_none(*arguments):
    """The positions and deltas; None if the release raises a StopIteration."""
    try:
        return zoo.qwen_rope_index(*arguments)
    except StopIteration:
        return None


@before_and_after(*VIDEOS)
def videos(testbed, target):
    """Positions of an image and a video at many frame rates, which nothing follows: releases continue differently.

    The rates come as a list and as a tensor; ``two videos`` have different rates. Cases that crash are left out.
    """
    import torch

    module = import_module("transformers.models.qwen2_5_vl.modeling_qwen2_5_vl")
    owner = module.Qwen2_5_VLModel
    if not hasattr(owner, "get_rope_index"):  # before 4.52.1
        owner = module.Qwen2_5_VLForConditionalGeneration
    model = zoo.qwen_vl(testbed, owner)
    results = {}
    image, video = (zoo.QWEN_IMAGE, 6), (zoo.QWEN_VIDEO, 32)
    for name, parts, images in (("video", [2, video], ()), ("image and video", [2, image, 3, video], ((1, 4, 6),))):
        ids = torch.tensor([zoo.qwen_sentence(testbed, parts)])
        for rate in RATES:
            for kind in (list, torch.tensor):
                seconds = kind([2 / rate])
                index = zoo.qwen_rope_index if IN_PLACE else _or_none
                answer = index(model, ids, images, ((8, 4, 4),), seconds)
                if answer is None:
                    continue
                positions, deltas = answer
                results[f"{name}, {rate} a second, {kind.__name__}"] = torch.cat(
                    [positions.flatten(), deltas.flatten()]
                )
    ids = torch.tensor([zoo.qwen_sentence(testbed, [2, (zoo.QWEN_VIDEO, 8), (zoo.QWEN_VIDEO, 12)])])
    both = zoo.qwen_rope_index(model, ids, videos=((2, 4, 4), (3, 4, 4)), seconds=torch.tensor([0.5, 1.25]))[0]
    return {**results, "two videos": both}


def applied_and_reverted(testbed, target):
    """Put the fixes of one function in place, take them out in the order in which they came, and compare its code.

    `target` names the function and the fixes: module, and ``qualname, id, id``.
    """
    import torch

    qualname, *fixes = target.qualname.split(", ")
    module = import_module(target.module)
    function = live.resolve(module, qualname).function
    assert function is not None
    stock = function.__code__

    def alone(fix):
        with hotfix.apply(only=[fix]):
            return function.__code__

    codes = [alone(fix) for fix in fixes]
    handles = [hotfix.apply(only=[fix]) for fix in fixes]
    together = function.__code__
    handles[0].revert()
    left = function.__code__
    for handle in handles[1:]:
        handle.revert()
    results = {
        "each changes it": len({stock, together, *codes}) == 2 + len(codes),
        "the others stay": len(fixes) != 2 or left == codes[1],
        "nothing stays": function.__code__ is stock and live.resolve(module, qualname).function is function,
        "it stands where it stood": together.co_filename == stock.co_filename,
    }
    return {name: torch.tensor(value) for name, value in results.items()}
