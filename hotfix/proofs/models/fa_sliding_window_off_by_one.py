"""The case of `fa-sliding-window-off-by-one`."""

import torch

from hotfix.models.fa_sliding_window_off_by_one import FIX, UTILS
from hotfix.proofs.models._runs import keys_seen
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import windowed


@FIX.case(oracles={"*": "4.56.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A decoder sees a sample of twelve tokens, and a batch with padding; and which tokens one layer of it has seen."""
    family = "mistral" if target.module == UTILS else target.module.rpartition(".modeling_")[2]
    model = windowed(testbed, family).train()
    ids = testbed.randint(3, 64, 2, 12, seed=1)
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    alone = model(ids[:1], use_cache=False).logits
    padded = model(ids, attention_mask=mask, use_cache=False).logits[mask.bool()]
    (alone.float().logsumexp(-1).mean() + padded.float().logsumexp(-1).mean()).backward()
    testbed.assert_flash("flash_attn_varlen_func", "flash_attn_varlen_func backward")
    seen = keys_seen(windowed(testbed, family, layers=1), ids[:1])
    return {"alone": alone, "padded": padded, "keys seen": seen, **testbed.gradients(model, vectors=False)}
