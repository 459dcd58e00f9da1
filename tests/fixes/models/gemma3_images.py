"""Cases for test_gemma3_images."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import hotfix
from hotfix.models import _gemma3
from hotfix.proofs import zoo
from hotfix.proofs.models import gemma3_mask_image_distance_heuristic as proof


def second_image_exchanged(testbed, target):
    """Logits of the tokens up to the end of the first image, and behind; with one second image and with another."""
    import torch

    model, inputs = zoo.gemma3(testbed)
    types, real = inputs["token_type_ids"], inputs["attention_mask"].bool()
    second = torch.zeros_like(types, dtype=torch.bool)
    second[0, 7:11] = second[1, 9:13] = True
    assert types[second].all()
    ids = inputs.pop("input_ids")
    results = {}
    for name, token in (("one", 60), ("another", 59)):
        with torch.no_grad():
            logits = model(ids.masked_fill(second, token), use_cache=False, **inputs).logits
        before = real & (second.cumsum(dim=1) == 0)
        results[f"{name}, before"], results[f"{name}, from there on"] = logits[before], logits[real & ~before]
    return results


def generated(testbed, target):
    """Four tokens for each of two prompts with images, from a cache of a fixed length."""
    return proof.generated(testbed)


def generated_with_a_strangers_mask(testbed, target):
    """The same, where somebody has replaced the function that makes the mask before hotfix came."""
    modeling: Any = import_module(_gemma3.MODELING)
    theirs = modeling.token_type_ids_mask_function
    modeling.token_type_ids_mask_function = lambda token_type_ids, tokens: theirs(token_type_ids, tokens)
    with hotfix.apply(only=["gemma3-mask-image-distance-heuristic"]):
        states = {outcome.state for outcome in hotfix.report()}
        assert {hotfix.State.APPLIED, hotfix.State.SKIPPED} <= states, hotfix.report()
        return proof.generated(testbed)
