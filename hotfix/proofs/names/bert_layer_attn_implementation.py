"""The proof: layers of BERT with a configuration of one's own, and with one of the library."""

from typing import Any

import torch

from hotfix.names.bert_layer_attn_implementation import FIX
from hotfix.proofs.testbed import Target, Testbed

SETTINGS: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
# Other arguments of the code that builds them.
OTHERS: dict[str, Any] = {
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
    "hidden_act": "gelu",
    "is_decoder": False,
    "layer_norm_eps": 1e-8,
    "output_attentions": False,
}


@FIX.case(raises="AttributeError: .* has no attribute '_attn_implementation'", oracles={"*": "4.40.2"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """States behind an encoder, the last tokens of one row masked."""
    from types import SimpleNamespace

    from transformers import BertConfig
    from transformers.models.bert.modeling_bert import BertEncoder, BertLayer

    states = testbed.randn(2, 5, 32, seed=1)
    mask = torch.tensor([[0.0] * 5, [0.0] * 3 + [-1e9] * 2])[:, None, None, :]
    theirs = BertConfig(**SETTINGS, layer_norm_eps=1e-8)
    theirs._attn_implementation = "eager"
    results = {}
    for name, config in (("own", SimpleNamespace(**SETTINGS, **OTHERS)), ("theirs", theirs)):
        encoder = testbed.fill(BertEncoder(config)).eval()
        results[f"{name}: encoder"] = encoder(states, attention_mask=mask, return_dict=False)[0]
        results[f"{name}: layer"] = testbed.fill(BertLayer(config)).eval()(states, attention_mask=mask)[0]
    return results
