"""Shared by the cases of ``_extract_past_from_model_output`` : generation with an override of remote code."""

import torch

from hotfix.proofs.names.asking import remote
from hotfix.proofs.testbed import Testbed
from hotfix.proofs.zoo import llama

OLD = """
import torch

def update(self, outputs, model_kwargs, is_encoder_decoder=False, standardize_cache_format=False, **kwargs):
    model_kwargs["past_key_values"] = self._extract_past_from_model_output(
        outputs, standardize_cache_format=standardize_cache_format
    )
    mask = model_kwargs["attention_mask"]
    model_kwargs["attention_mask"] = torch.cat([mask, mask.new_ones((mask.shape[0], 1))], dim=-1)
    if "cache_position" in model_kwargs:
        model_kwargs["cache_position"] = model_kwargs["cache_position"][-1:] + 1
    if model_kwargs.get("position_ids") is not None:
        ids = model_kwargs["position_ids"]
        model_kwargs["position_ids"] = torch.cat([ids, ids[:, -1:] + 1], dim=-1)
    return model_kwargs
"""


def generated(testbed: Testbed) -> dict[str, torch.Tensor]:
    """Six tokens by a small Llama, the first row padded on the left."""
    model = llama(testbed, attn="sdpa", dtype=torch.float32)
    update = remote(OLD)["update"]
    cls = type(model)
    type(model)._update_model_kwargs_for_generation = update
    try:
        prompt = testbed.randint(3, 60, 2, 5, seed=3)
        mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
        options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
        return {"tokens": model.generate(prompt, attention_mask=mask, **options)}
    finally:
        del cls._update_model_kwargs_for_generation
