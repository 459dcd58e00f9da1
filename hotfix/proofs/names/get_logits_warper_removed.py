"""The proof: a program's own sampling."""

from __future__ import annotations

from typing import Any

import torch

from hotfix.names.get_logits_warper_removed import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed

_SETTINGS: tuple[dict[str, Any], ...] = (
    {"top_k": 5, "top_p": 0.8, "temperature": 0.7},
    {"top_k": 0, "typical_p": 0.6, "renormalize_logits": True},
    {"top_k": 20, "epsilon_cutoff": 0.01, "eta_cutoff": 0.02},
    {"top_k": 1, "num_beams": 2, "eos_token_id": [1, 2]},
    {},
)


@FIX.case(
    raises="AttributeError: 'LlamaForCausalLM' object has no attribute '_get_logits_warper'", oracles={"*": "4.44.2"}
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Scores behind the warpers, and what they were."""
    from transformers import GenerationConfig

    model = zoo.small_llama(testbed)
    scores, ids = testbed.randn(2, 64, seed=1), testbed.randint(3, 60, 2, 4, seed=2)
    result: dict[str, torch.Tensor] = {}
    for number, settings in enumerate(_SETTINGS):
        config = GenerationConfig(do_sample=True, **settings)
        config._eos_token_tensor = torch.tensor(settings.get("eos_token_id", [1]))  # as `generate` prepares it
        result[str(number)] = model._get_logits_warper(config, device=scores.device)(ids, scores)
    return result
