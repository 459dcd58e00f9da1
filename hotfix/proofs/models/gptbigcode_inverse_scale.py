"""A tiny GPTBigCode, two texts, one of them padded on the left: logits of the tokens."""

import torch

from hotfix.models.gptbigcode_inverse_scale import FIX
from hotfix.proofs._decoder import logits_of_both_attentions
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, with both attentions."""
    from transformers import GPTBigCodeConfig, GPTBigCodeForCausalLM

    config = GPTBigCodeConfig(vocab_size=48, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    return logits_of_both_attentions(testbed, GPTBigCodeForCausalLM, config)
