"""Correct programs that compile a model in one graph, run on a release without repairs and on the same one repaired."""

from __future__ import annotations

import torch

from hotfix.proofs.zoo import windowed, windowed_cohere2
from tests.working.models.programs_changed import opt
from tests.working.models.programs_decoders import _llama4


def compiled(function):
    return torch.compile(function, fullgraph=True, backend="eager")


def read(module, args, output):
    """A forward hook that reads."""
    module.seen = len(output)


def scaled_back(module, args, output):
    """A forward hook that compensates for a scaling."""
    return output * 8**0.5


def _logits(testbed, run):
    with torch.no_grad():
        return run(testbed.randint(3, 48, 2, 9, seed=1), use_cache=False).logits


def opt_with_hooks_that_read(testbed, target):
    """Compiled, less the same model as it is."""
    model = opt(testbed)
    for layer in model.model.decoder.layers:
        layer.self_attn.q_proj.register_forward_hook(read)
    return {"difference": (_logits(testbed, compiled(model)) - _logits(testbed, model)).abs().max()}


def opt_with_hooks_that_change(testbed, target):
    """A workaround: a hook undoes the first scaling."""
    model = opt(testbed)
    for layer in model.model.decoder.layers:
        layer.self_attn.q_proj.register_forward_hook(scaled_back)
    return {"logits": _logits(testbed, compiled(model))}


def llama4_with_hooks_that_read(testbed, target):
    """Compiled, less the same model as it is."""
    model = _llama4(testbed)
    for layer in model.model.layers:
        layer.feed_forward.router.register_forward_hook(read)
    return {"difference": (_logits(testbed, compiled(model)) - _logits(testbed, model)).abs().max()}


def hybrid_caches(testbed, target):
    """Prompts within the window and a next token, with the cache of these models, compiled as by `generate`."""
    from transformers.cache_utils import HybridCache

    results, ids = {}, testbed.randint(3, 48, 2, 4, seed=1)
    for name, model in (
        ("gemma2", windowed(testbed, "gemma2", attn="eager", dtype=torch.float32)),
        ("cohere2", windowed_cohere2(testbed, attn="sdpa", dtype=torch.float32)),
    ):
        cache = HybridCache(model.config, 2, 12, device="cpu", dtype=torch.float32)
        run = compiled(model)
        with torch.no_grad():
            for start, end in ((0, 2), (2, 3)):
                results[f"{name}: {end}"] = run(
                    ids[:, start:end],
                    attention_mask=torch.ones(2, end, dtype=torch.long),
                    cache_position=torch.arange(start, end),
                    past_key_values=cache,
                    use_cache=True,
                ).logits
    return results
