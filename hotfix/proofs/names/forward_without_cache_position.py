"""The proof: a class in the manner of LLaVA, with a `forward` of its own, and a Llama as it is."""

from typing import Any

import torch

from hotfix.names.forward_without_cache_position import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="TypeError: .*unexpected keyword argument 'cache_position'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens by greedy and by beam search, the first row padded on the left."""
    from transformers import LlamaForCausalLM

    class Llava(LlamaForCausalLM):
        def forward(
            self,
            input_ids: Any = None,
            attention_mask: Any = None,
            position_ids: Any = None,
            past_key_values: Any = None,
            inputs_embeds: Any = None,
            use_cache: Any = None,
            output_attentions: Any = None,
            output_hidden_states: Any = None,
            images: Any = None,
            return_dict: Any = None,
        ) -> Any:
            return super().forward(
                input_ids=input_ids,
                attention_mask=attention_mask,
                position_ids=position_ids,
                past_key_values=past_key_values,
                inputs_embeds=inputs_embeds,
                use_cache=use_cache,
                return_dict=return_dict,
            )

        def prepare_inputs_for_generation(self, input_ids: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
            images = kwargs.pop("images", None)
            inputs = super().prepare_inputs_for_generation(input_ids, past_key_values=past_key_values, **kwargs)
            if images is not None:
                inputs["images"] = images
            return inputs

    config = llama(testbed, attn="eager", dtype=torch.float32).config
    prompt = testbed.randint(3, 60, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    options = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    results = {}
    for cls in (LlamaForCausalLM, Llava):
        model = testbed.fill(cls._from_config(config, attn_implementation="eager")).eval()
        more = {"images": torch.zeros(2, 1)} if cls is Llava else {}
        results[f"{cls.__name__}: greedy"] = model.generate(prompt, **options, **more)
        results[f"{cls.__name__}: beams"] = model.generate(prompt, num_beams=2, **options, **more)
    return results
