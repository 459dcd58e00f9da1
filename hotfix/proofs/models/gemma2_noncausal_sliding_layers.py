"""A tiny Gemma 2 reads two texts, one of them padded; and a text of one token, which nothing comes after."""

import torch

from hotfix.models.gemma2_noncausal_sliding_layers import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import windowed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of the tokens, with both attentions; those of a text must not depend on later tokens."""
    ids = testbed.randint(5, 60, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    results = {}
    for attention in ("eager", "sdpa"):
        model = windowed(testbed, "gemma2", attn=attention, dtype=torch.float32)
        results[attention] = model(ids, attention_mask=mask, use_cache=False).logits[mask.bool()]
        other = ids.clone()
        other[:, -1] = 4
        results[f"{attention}, another end"] = model(other, attention_mask=mask, use_cache=False).logits[:1, :-1]
        results[f"{attention}, one token"] = model(ids[:, :1], use_cache=False).logits
    return results
