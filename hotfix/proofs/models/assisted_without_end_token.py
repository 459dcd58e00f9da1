"""Prompt lookup with a model that has no end token."""

import torch

from hotfix.models.assisted_without_end_token import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: 'NoneType' object has no attribute 'shape'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens of greedy generation, where the prompt repeats itself."""
    model = zoo.small_llama(testbed).eval()
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    ids = torch.tensor([[3, 4, 5, 6, 3, 4, 5, 6, 3, 4]], device=testbed.device)
    tokens = model.generate(ids, max_new_tokens=6, do_sample=False, prompt_lookup_num_tokens=3, pad_token_id=0)
    return {"tokens": tokens}
