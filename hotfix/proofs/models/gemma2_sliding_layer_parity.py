"""A tiny Gemma 2 with a window of four tokens: texts of nine, which tokens a layer sees, and decoding past the window.

Nothing may change for a text that is within the window.
"""

from typing import Any

import torch

from hotfix.models.gemma2_sliding_layer_parity import FIX
from hotfix.proofs.models._runs import keys_seen
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import WINDOW, windowed

# Other bugs in the layers of these releases.
_OTHERS = ("gemma2-noncausal-sliding-layers", "gemma2-attn-softcap-missing")


@FIX.case(packages={"flash-attn": None}, with_fixes=_OTHERS)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of both attentions, without a cache and with one; and which keys the first layer sees."""
    ids = testbed.randint(5, 60, 2, 9, seed=1)
    results = {}
    for attention in ("eager", "sdpa"):
        model = windowed(testbed, "gemma2", attn=attention, dtype=torch.float32)
        results[attention] = model(ids, use_cache=False).logits
        results[f"{attention}, a short text"] = model(ids[:, :WINDOW], use_cache=False).logits
        with torch.no_grad():
            results[f"{attention}, a cache"] = continued(model, ids, 3)
    one_layer = windowed(testbed, "gemma2", layers=1, attn="eager", dtype=torch.float32)
    return {**results, "keys seen": keys_seen(one_layer, ids[:1])}


def continued(model: Any, ids: torch.Tensor, prompt: int) -> torch.Tensor:
    """Logits of tokens of which the first `prompt` are computed at once and the others one by one, with a cache."""
    from transformers.cache_utils import HybridCache

    cache = HybridCache(model.config, len(ids), ids.shape[1], ids.device, model.dtype)
    steps, end = [], 0
    for length in (prompt, *(1 for _ in range(prompt, ids.shape[1]))):
        start, end = end, end + length
        positions = torch.arange(start, end, device=ids.device)
        steps.append(model(ids[:, start:end], past_key_values=cache, cache_position=positions, use_cache=True).logits)
    return torch.cat(steps, dim=1)
