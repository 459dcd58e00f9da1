"""The proof: a model in the manner of moondream's goes on from embeddings, and from tokens."""

import torch

from hotfix.names.remote_phi_cache_index import FIX
from hotfix.proofs.names.asking import remote
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama

OLD = '''
import torch
from torch import nn
from transformers import DynamicCache, GenerationMixin, LlamaConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast


class Turning(PreTrainedModel, GenerationMixin):
    """Each token sees the mean of what came before, turned by its position; one layer, one head."""

    config_class = LlamaConfig
    _supports_cache_class = True

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.turn = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed

    def forward(
        self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, inputs_embeds=None,
        use_cache=None, **kwargs,
    ):
        new = self.embed(input_ids) if inputs_embeds is None else inputs_embeds
        past = DynamicCache() if past_key_values is None else past_key_values
        length = past.get_seq_length() + new.shape[1]
        new = new * self.turn.weight[:length][position_ids]
        states, _ = past.update(new[:, None], new[:, None], 0)
        weights = attention_mask[:, None, :, None].to(states.dtype)
        seen = (states * weights).cumsum(2) / weights.cumsum(2).clamp(min=1)
        logits = self.head(torch.tanh(seen[:, 0, -new.shape[1]:]))
        return CausalLMOutputWithPast(logits=logits, past_key_values=past)

    def prepare_inputs_for_generation(
        self, input_ids, past_key_values=None, attention_mask=None, inputs_embeds=None, **kwargs
    ):
        positions = (attention_mask.cumsum(-1) - 1).clamp(min=0)
        if past_key_values is not None:
            past_length = past_key_values.get_seq_length()
            if attention_mask.shape[1] > input_ids.shape[1]:
                input_ids = input_ids[:, -(attention_mask.shape[1] - past_length):]
            elif past_length < input_ids.shape[1]:
                input_ids = input_ids[:, past_length:]
            if past_length:
                positions = positions[:, -input_ids.shape[1]:]
        if inputs_embeds is not None and past_key_values is None:
            inputs = {"inputs_embeds": inputs_embeds}
        else:
            inputs = {"input_ids": input_ids}
        return {
            **inputs, "position_ids": positions, "past_key_values": past_key_values, "attention_mask": attention_mask,
            "use_cache": kwargs.get("use_cache"),
        }
'''


@FIX.case(
    raises="IndexError: index (5 )?is out of bounds for dimension",
    packages={"flash-attn": None},
    with_fixes=("own-forward-with-past-key-values",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens, the first row padded on the left."""
    import transformers

    config = llama(testbed, attn="eager", dtype=torch.float32).config
    model = testbed.fill(remote(OLD)["Turning"](config), scale=3.0).eval()
    prompt = testbed.randint(3, 60, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    options = {"attention_mask": mask, "max_new_tokens": 6, "do_sample": False, "pad_token_id": 0, "use_cache": True}
    if transformers.__version__ == "5.0.0":  # it makes a cache only if the caller requests one
        options["cache_implementation"] = "dynamic"
    tokens = model.generate(prompt, **options)
    embedded = model.generate(inputs_embeds=model.embed(prompt), **options)
    return {"tokens": tokens[:, 5:], "embedded": embedded[:, -6:]}
