"""A model is made as with torch 2.3, which has no ``nn.RMSNorm``."""

import torch

from hotfix.loading.nn_rmsnorm_old_torch import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(raises="AttributeError: module 'torch.nn' has no attribute 'RMSNorm'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The norms as they are initialized, and logits of seeded weights."""
    from transformers import LlamaConfig, LlamaModel

    modern = torch.nn.RMSNorm
    del torch.nn.RMSNorm
    try:
        made = LlamaModel(LlamaConfig(vocab_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=2))
        model = small_llama(testbed).to(testbed.device)
    finally:
        torch.nn.RMSNorm = modern
    return {"norm": made.norm.weight, "logits": model(testbed.randint(0, 32, 1, 7)).logits}
