"""The proof: subclasses of Llama generate that ask whether their cache is true, or how long it is."""

from typing import Any

import torch

from hotfix.names.empty_cache_is_true import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(oracles={"*": "4.55.4"}, packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens by greedy and by beam search, and without a cache, the first row padded on the left."""
    prompt = testbed.randint(3, 32, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    results = {}
    for ask in (bool, len):
        model = model_of(testbed, ask)
        for way, options in (("greedy", {}), ("beams", {"num_beams": 2}), ("no cache", {"use_cache": False})):
            results[f"{ask.__name__}: {way}"] = model.generate(
                prompt,
                attention_mask=mask,
                max_new_tokens=6,
                do_sample=False,
                pad_token_id=0,
                eos_token_id=-1,
                **options,
            )
    return results


def model_of(testbed: Testbed, ask: Any) -> Any:
    """A model whose method asks in one of the two ways, as most remote code of 2023 does.

    Args:
        testbed: makes the weights.
        ask: ``bool`` or ``len``.
    """
    from transformers import LlamaForCausalLM

    class Asked(LlamaForCausalLM):
        def prepare_inputs_for_generation(
            self,
            input_ids: Any,
            past_key_values: Any = None,
            attention_mask: Any = None,
            inputs_embeds: Any = None,
            **kwargs: Any,
        ) -> dict[str, Any]:
            if past_key_values:
                input_ids = input_ids[:, -1:]
            positions = attention_mask.long().cumsum(-1) - 1
            positions.masked_fill_(attention_mask == 0, 1)
            if inputs_embeds is not None and not past_key_values:
                inputs = {"inputs_embeds": inputs_embeds}
            else:
                inputs = {"input_ids": input_ids}
            inputs["position_ids"] = positions[:, -input_ids.shape[1] :] if past_key_values else positions
            return {
                **inputs,
                "past_key_values": past_key_values,
                "use_cache": kwargs.get("use_cache"),
                "attention_mask": attention_mask,
            }

    class Counted(Asked):
        def prepare_inputs_for_generation(
            self,
            input_ids: Any,
            past_key_values: Any = None,
            attention_mask: Any = None,
            inputs_embeds: Any = None,
            **kwargs: Any,
        ) -> dict[str, Any]:
            is_new = past_key_values is None or len(past_key_values) == 0
            inputs = super().prepare_inputs_for_generation(input_ids, None, attention_mask, inputs_embeds, **kwargs)
            if not is_new:
                inputs = {name: inputs[name] for name in ("attention_mask", "use_cache", "position_ids")}
                inputs["position_ids"] = inputs["position_ids"][:, -1:]
                inputs["input_ids"] = input_ids[:, -1:]
            inputs["past_key_values"] = past_key_values
            return inputs

    made: Any = small_llama(testbed)
    made.__class__ = {bool: Asked, len: Counted}[ask]
    return made
