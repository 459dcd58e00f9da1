"""The proof: greedy and beam search by a model in the manner of InternLM2, the first row padded on the left."""

import sys
import types

import torch

from hotfix.names.tuple_model_given_a_cache import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama

OLD = '''
import torch
from torch import nn
from transformers import GenerationMixin, LlamaConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast


class Summing(PreTrainedModel, GenerationMixin):
    """Each token sees the mean of what came before; the past is a tuple of one pair of four axes."""

    config_class = LlamaConfig

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def forward(self, input_ids, attention_mask=None, past_key_values=None, use_cache=None, **kwargs):
        states = self.embed(input_ids)[:, None]
        if past_key_values is not None:
            states = torch.cat([past_key_values[0][0], states], dim=2)
        weights = attention_mask[:, None, :, None].to(states.dtype)
        seen = (states * weights).cumsum(2) / weights.cumsum(2).clamp(min=1)
        logits = self.head(torch.tanh(seen[:, 0, -input_ids.shape[1]:]))
        return CausalLMOutputWithPast(logits=logits, past_key_values=((states, states),) if use_cache else None)

    def prepare_inputs_for_generation(self, input_ids, past_key_values=None, attention_mask=None, **kwargs):
        if past_key_values is not None:
            input_ids = input_ids[:, past_key_values[0][0].shape[2]:]
        return {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "past_key_values": past_key_values,
            "use_cache": kwargs.get("use_cache"),
        }

    @staticmethod
    def _reorder_cache(past_key_values, beam_idx):
        return tuple(tuple(one.index_select(0, beam_idx) for one in layer) for layer in past_key_values)
'''


@FIX.case(raises="KeyError: |AttributeError: |TypeError: |IndexError: ", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens."""
    import transformers

    config = llama(testbed, attn="eager", dtype=torch.float32).config  # a model that old has no sdpa
    module = types.ModuleType("transformers_modules.tiny.modeling_summing")
    sys.modules[module.__name__] = module
    exec(OLD, vars(module))
    model = testbed.fill(module.Summing(config)).eval()
    prompt = testbed.randint(3, 60, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    options = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "use_cache": True}
    if transformers.__version__ == "5.0.0":  # it makes a cache only if the caller requests one
        options["cache_implementation"] = "dynamic"
    return {"greedy": model.generate(prompt, **options), "beams": model.generate(prompt, num_beams=2, **options)}
