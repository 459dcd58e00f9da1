"""The proof: a custom model inside another one, as in InternVL, beam search with it; a GPT-2 as in XTTS."""

from typing import Any

import torch

from hotfix.names.pretrainedmodel_no_generate import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(
    raises="AttributeError: '(Talker|OfTuples)' object has no attribute 'generate'", packages={"flash-attn": None}
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A custom head on a small Llama, without a cache."""
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

    from transformers import GPT2Config, GPT2Model, GPT2PreTrainedModel

    class OfTuples(GPT2PreTrainedModel):
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.transformer = GPT2Model(config)
            self.head = torch.nn.Linear(config.n_embd, config.vocab_size, bias=False)

        def forward(
            self,
            input_ids: Any,
            attention_mask: Any = None,
            position_ids: Any = None,
            past_key_values: Any = None,
            use_cache: Any = None,
            return_dict: Any = None,
        ) -> Any:
            output = self.transformer(
                input_ids,
                attention_mask=attention_mask,
                position_ids=position_ids,
                past_key_values=past_key_values,
                use_cache=use_cache,
                return_dict=True,
            )
            logits = self.head(output.last_hidden_state)
            return CausalLMOutputWithPast(logits=logits, past_key_values=output.past_key_values)

        def prepare_inputs_for_generation(self, input_ids: Any, past_key_values: Any = None, **kwargs: Any) -> Any:
            mask, positions = kwargs["attention_mask"], kwargs.get("position_ids")
            if positions is None:
                positions = (mask.long().cumsum(-1) - 1).clamp(min=0)
            if past_key_values is not None:  # what is in the cache is left out
                input_ids, positions = input_ids[:, -1:], positions[:, -1:]
            inputs = {"input_ids": input_ids, "position_ids": positions, "attention_mask": mask}
            return {**inputs, "past_key_values": past_key_values, "use_cache": kwargs["use_cache"]}

        @staticmethod
        def _reorder_cache(past_key_values: Any, beam_idx: Any) -> Any:
            return tuple(tuple(part.index_select(0, beam_idx) for part in layer) for layer in past_key_values)

    model = Talker(small.config).eval()
    model.config.use_cache = False
    prompt = testbed.randint(3, 60, 2, 5, seed=3)
    options = {"max_new_tokens": 6, "do_sample": False, "use_cache": False, "pad_token_id": 0}
    mask = torch.ones_like(prompt)
    sizes = {"vocab_size": 64, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
    older = testbed.fill(OfTuples(GPT2Config(**sizes, bos_token_id=1, eos_token_id=2))).eval()
    padded = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    cached = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    return {
        "tuples": older.generate(input_ids=prompt, attention_mask=padded, **cached),
        "tuples, one prompt": older.generate(input_ids=prompt[1:], attention_mask=mask[1:], **cached),
        "greedy": model.generate(input_ids=prompt, attention_mask=mask, **options),
        "beams": model.generate(input_ids=prompt, attention_mask=mask, num_beams=2, **options),
        "prepared": Mute(small.config).prepare_inputs_for_generation(prompt, attention_mask=mask)["input_ids"],
        "can": torch.tensor(Talker.can_generate()),
    }
