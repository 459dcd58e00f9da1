"""A small decoder: its sizes, and its logits for two texts."""

from typing import Any

import torch

from hotfix.proofs.testbed import Testbed

SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "num_hidden_layers": 2,
    "intermediate_size": 48,
    "vocab_size": 64,
    "pad_token_id": 0,
}


def logits_of_both_attentions(testbed: Testbed, model_class: type, config: Any) -> dict[str, torch.Tensor]:
    """The logits of the tokens of a text of nine and of one of six behind padding, eager and with torch's attention.

    Args:
        testbed: makes the models and the texts.
        model_class: a causal language model.
        config: its configuration, with a vocabulary of at least 48.
    """
    ids = testbed.randint(5, 48, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[1, :3] = 0
    return {
        attention: testbed.model(model_class, config, attention, torch.float32)(ids, attention_mask=mask).logits[
            mask.bool()
        ]
        for attention in ("eager", "sdpa")
    }
