"""The proof: layers of BERT with a custom configuration, and with one of the library."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.bert_layer_attn_implementation import FIX, MODELS
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

    name = MODELS[target.module.rpartition(".modeling_")[2]]
    modeling = import_module(target.module)
    configuration = getattr(import_module(target.module.replace("modeling_", "configuration_")), f"{name}Config")
    states = testbed.randn(2, 5, 32, seed=1)
    mask = torch.tensor([[0.0] * 5, [0.0] * 3 + [-1e9] * 2])[:, None, None, :]
    chosen, unset = (configuration(**SETTINGS, layer_norm_eps=1e-8) for _ in range(2))
    chosen._attn_implementation = "eager"
    own = SimpleNamespace(**SETTINGS, **OTHERS)
    results = {}
    for label, config in (("own", own), ("theirs", chosen), ("theirs, of no model", unset)):
        encoder = testbed.fill(getattr(modeling, f"{name}Encoder")(config)).eval()
        results[f"{label}: encoder"] = encoder(states, attention_mask=mask, return_dict=False)[0]
        layer = testbed.fill(getattr(modeling, f"{name}Layer")(config)).eval()
        results[f"{label}: layer"] = layer(states, attention_mask=mask)[0]
    return results
