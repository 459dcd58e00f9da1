"""The proof: the numbers of an attention layer are read."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.attention_numbers_removed import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: '.*Attention' object has no attribute '", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """One number, as the module says it, and one that the program has set."""
    module = import_module(target.module)
    owner, _, number = target.qualname.partition(".")
    settings = {"hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0}
    config = getattr(module, owner.replace("Attention", "Config"))(**settings)
    config._attn_implementation = "eager"
    namespace: dict[str, Any] = {"attention": getattr(module, owner)(config, layer_idx=0)}
    exec(f"got = attention.{number}; attention.{number} = 7; later = attention.{number}", namespace)
    return {"number": torch.tensor([namespace["got"], namespace["later"]])}
