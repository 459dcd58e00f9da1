"""The proof: the forward of a warped encoder, as GroundingDINO has it."""

import torch

from hotfix.names.v5_get_head_mask_removed import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .* has no attribute '?get_head_mask")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask models for the mask of no heads."""
    from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

    ask(target)
    bert = BertModel(BertConfig(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32))
    gpt = GPT2Model(GPT2Config(n_embd=16, n_layer=3, n_head=2, vocab_size=32))
    masks = [bert.get_head_mask(None, 2), gpt.get_head_mask(None, gpt.config.n_layer, False)]
    return {
        "layers": torch.tensor([len(mask) for mask in masks]),
        "empty": torch.tensor([all(layer is None for layer in mask) for mask in masks]),
    }
