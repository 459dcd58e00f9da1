"""The proof: a model that allows only some kinds of attention, in its own words, and one that says nothing."""

from typing import Any

import torch

from hotfix.names.v5_check_attn_override_signature import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="TypeError: .*unexpected keyword argument 'allow_all_kernels'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, and what attention was chosen: when it is built, and when it is set."""
    from transformers import LlamaForCausalLM

    class Choosy(LlamaForCausalLM):
        def _check_and_adjust_attn_implementation(self, attn_implementation: Any, is_init_check: bool = False) -> Any:
            chosen = "sdpa" if attn_implementation == "eager" and is_init_check else attn_implementation
            return super()._check_and_adjust_attn_implementation(chosen, is_init_check)

    config = llama(testbed, attn="eager", dtype=torch.float32).config
    ids = testbed.randint(3, 60, 2, 6, seed=2)
    results = {}
    for name, cls in (("override", Choosy), ("none", LlamaForCausalLM)):
        model = testbed.fill(cls._from_config(config, attn_implementation="eager")).eval()
        built = model.config._attn_implementation
        first = model(ids).logits
        model.set_attn_implementation("eager" if built == "sdpa" else "sdpa")
        results[f"{name}: chosen"] = words(built, model.config._attn_implementation)
        results[f"{name}: logits"] = torch.stack([first, model(ids).logits])
    return results
