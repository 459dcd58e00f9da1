"""The proof: a model prepares its inputs as remote code does, and generates from prompts of two lengths."""

from typing import Any

import torch

from hotfix.names.v5_generate_position_ids import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="RuntimeError: .*(must match|size)", oracles={"*": "4.57.6"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """As it was written before 5.2.0, and one that leaves it to the library."""
    model = llama(testbed, attn="sdpa", dtype=torch.float32)
    library: Any = type(model)

    class Older(library):
        def prepare_inputs_for_generation(
            self, input_ids: Any, past_key_values: Any = None, attention_mask: Any = None, **kwargs: Any
        ) -> dict[str, Any]:
            past = past_key_values.get_seq_length() if past_key_values is not None else 0
            input_ids = input_ids[:, past:]
            positions = kwargs.get("position_ids")
            if attention_mask is not None and positions is None:
                positions = (attention_mask.long().cumsum(-1) - 1).masked_fill(attention_mask == 0, 1)
                positions = positions[:, -input_ids.shape[1] :]
            given = {"input_ids": input_ids, "position_ids": positions, "attention_mask": attention_mask}
            return {**given, "past_key_values": past_key_values, "use_cache": kwargs.get("use_cache")}

    class Leaving(library):
        def prepare_inputs_for_generation(self, *args: Any, **kwargs: Any) -> Any:
            return super().prepare_inputs_for_generation(*args, **kwargs)

    ids = testbed.randint(3, 60, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    results = {}
    for cls in (Older, Leaving):
        model.__class__ = cls
        options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
        results[cls.__name__] = model.generate(ids, attention_mask=mask, **options)
    return results
