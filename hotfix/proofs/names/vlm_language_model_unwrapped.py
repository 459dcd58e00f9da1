"""The proof: the layers of a language model within a vision-language model are reached as in 4.51."""

from importlib import import_module
from typing import Any

import torch
from packaging.version import Version

from hotfix.names.vlm_language_model_unwrapped import FIX
from hotfix.proofs.testbed import Target, Testbed

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "num_local_experts": 2,
    "moe_num_experts": 4,
    "cross_attention_layers": [],
    "pad_token_id": 0,
}


@FIX.case(raises="AttributeError: '.*Model' object has no attribute 'model'", oracles={"*": "4.51.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The states that the model of the layers computes, and a weight of a layer."""
    from transformers import __version__

    module, name = import_module(target.module), target.qualname.partition(".")[0]
    kind = getattr(module, name)
    causal = name.replace("Gemma3Text", "Gemma3").replace("MllamaText", "Mllama").replace("Model", "ForCausalLM")
    if Version(__version__) < Version("4.52"):  # what a vision-language model contains
        kind = getattr(module, causal)
    known = vars(kind.config_class())
    config = kind.config_class(**{key: value for key, value in SIZES.items() if key in known})
    if "Mllama" in name and Version(__version__).major < 5:
        config.rope_scaling = {"rope_type": "default"}
    config._attn_implementation = "eager"
    language_model: Any = kind(config).eval()
    inner = testbed.fill(language_model.model)
    ids = torch.tensor([[1, 5, 9, 2, 7]])
    with torch.no_grad():
        states = inner(input_ids=ids, use_cache=False).last_hidden_state
    return {"states": states, "weight": next(inner.layers[1].parameters())}
