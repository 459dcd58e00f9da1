"""The proof: a custom forward gets from the attention cosine and sine."""

from importlib import import_module
from inspect import signature
from typing import Any

import torch

from hotfix.names.attention_rotary_emb_removed import FIX
from hotfix.proofs.testbed import Target, Testbed

_LAST = {"gpt_neox": "4.48.3", "falcon": "4.53.3", "persimmon": "4.57.6", "qwen2_moe": "4.57.6", "stablelm": "4.57.6"}


@FIX.case(
    raises="AttributeError: '.*Attention' object has no attribute 'rotary_emb'",
    packages={"flash-attn": None},
    oracles={"*": "4.47.1", **{f"transformers.models.{name}.*": last for name, last in _LAST.items()}},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Cosine and sine of the positions of two texts, what the modules are, and what the program sets."""
    module = import_module(target.module)
    owner = target.qualname.partition(".")[0]
    settings: dict[str, Any] = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2}
    settings |= {"pad_token_id": 0, "rope_theta": 10000.0}
    config = getattr(module, owner.replace("Attention", "Config"))(**settings)
    config._attn_implementation = "eager"
    attention: Any = getattr(module, owner)(config, layer_idx=0)
    states, positions = testbed.randn(2, 4, 6, 8), torch.arange(6, device=testbed.device).repeat(2, 1)
    positions[0] += 3
    again: Any = getattr(module, owner)(config, layer_idx=0)
    rotary = attention.to(testbed.device).rotary_emb
    if "position_ids" in signature(rotary.forward).parameters:
        cosine, sine = rotary(states, positions)
    else:  # to 4.47, Mixtral's take a length
        cosine, sine = (table[positions] for table in rotary(states, seq_len=9))
    results = {"cosine": cosine, "sine": sine, "same": torch.tensor([attention.rotary_emb is rotary])}
    own = torch.nn.Identity()
    again.rotary_emb = own
    results["set"] = torch.tensor([again.rotary_emb is own, again._modules["rotary_emb"] is own])
    return results
