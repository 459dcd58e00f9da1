"""The case of `gemma2-fa2-no-window`."""

from typing import Any

import torch

from hotfix.models.gemma2_fa2_no_window import FIX, LAYER
from hotfix.proofs.models._runs import keys_seen
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import windowed


@FIX.case(oracles={"*": "4.48.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Training on twelve tokens, and which of them the first layer has seen; then a batch with padding, and a cache."""
    model = windowed(testbed, "gemma2").train()
    ids = testbed.randint(3, 64, 3, 12, seed=1)
    alone = model(ids, use_cache=False).logits
    alone.float().logsumexp(-1).mean().backward()
    seen = keys_seen(windowed(testbed, "gemma2", layers=1), ids[:1])
    results = {"alone": alone, "keys seen": seen, **testbed.gradients(model, vectors=False)}
    if f"{target.module}:{target.qualname}" == LAYER:
        mask = torch.ones_like(ids)
        mask[1, :5] = mask[2, :9] = 0
        with torch.no_grad():
            results["padded"] = model.eval()(ids, attention_mask=mask, use_cache=False).logits[mask.bool()]
            results["with a cache"] = continued(model, ids, mask, 9)[mask.bool()]
    testbed.assert_flash("flash_attn_func")
    return results


def continued(model: Any, ids: torch.Tensor, mask: torch.Tensor, prompt: int) -> torch.Tensor:
    """Logits of tokens of which the first `prompt` are computed at once and the others one by one, with a cache."""
    from transformers import HybridCache

    cache = HybridCache(model.config, len(ids), ids.shape[1], ids.device, model.dtype)
    steps, end = [], 0
    for length in (prompt, *(1 for _ in range(prompt, ids.shape[1]))):
        start, end = end, end + length
        output = model(
            ids[:, start:end],
            attention_mask=mask[:, :end],
            past_key_values=cache,
            cache_position=torch.arange(start, end, device=ids.device),
            use_cache=True,
        )
        steps.append(output.logits)
    return torch.cat(steps, dim=1)
