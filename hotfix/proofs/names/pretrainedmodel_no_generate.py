"""The proof: a model of one's own inside of another one, as in InternVL, and beam search with it."""

from typing import Any

import torch

from hotfix.names.pretrainedmodel_no_generate import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="AttributeError: 'Talker' object has no attribute 'generate'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A head of one's own on a small Llama, without a cache."""
    from transformers import LlamaPreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast

    small = llama(testbed, attn="sdpa", dtype=torch.float32)

    class Talker(LlamaPreTrainedModel):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.inner = small

        def forward(self, input_ids: Any, attention_mask: Any = None, **kwargs: Any) -> Any:
            return CausalLMOutputWithPast(logits=self.inner(input_ids, attention_mask, use_cache=False).logits)

        def prepare_inputs_for_generation(self, input_ids: Any, attention_mask: Any = None, **kwargs: Any) -> Any:
            return {"input_ids": input_ids, "attention_mask": attention_mask}

    class Mute(LlamaPreTrainedModel):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.head = torch.nn.Linear(2, 2)

    model = Talker(small.config).eval()
    model.config.use_cache = False
    prompt = testbed.randint(3, 60, 2, 5, seed=3)
    options = {"max_new_tokens": 6, "do_sample": False, "use_cache": False, "pad_token_id": 0}
    mask = torch.ones_like(prompt)
    return {
        "greedy": model.generate(input_ids=prompt, attention_mask=mask, **options),
        "beams": model.generate(input_ids=prompt, attention_mask=mask, num_beams=2, **options),
        "prepared": Mute(small.config).prepare_inputs_for_generation(prompt, attention_mask=mask)["input_ids"],
        "can": torch.tensor(Talker.can_generate()),
    }
