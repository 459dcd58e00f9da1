# mypy: ignore-errors
"""A decoder in the manner of the first models with caches (Phi-3): what it asks of a cache is what 4.41 had."""

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache
from transformers.modeling_attn_mask_utils import _prepare_4d_causal_attention_mask
from transformers.modeling_outputs import CausalLMOutputWithPast


class CachesConfig(PretrainedConfig):
    model_type = "tiny_caches"

    def __init__(
        self, vocab_size=64, hidden_size=32, num_attention_heads=4, num_hidden_layers=2, use_cache=True, **kwargs
    ):
        self.use_cache = use_cache
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_attention_heads = num_attention_heads
        self.num_hidden_layers = num_hidden_layers
        self.sliding_window = 2047
        super().__init__(**kwargs)


class Attention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.out = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, states, attention_mask, past_key_value):
        rows, length, width = states.shape
        query, key, value = (
            part.view(rows, length, self.heads, -1).transpose(1, 2) for part in self.qkv(states).chunk(3, dim=-1)
        )
        kv_length = key.shape[-2]
        if past_key_value is not None:
            kv_length += past_key_value.get_usable_length(kv_length, self.layer_idx)
            key, value = past_key_value.update(key, value, self.layer_idx, {})
        weights = query @ key.transpose(2, 3) / (width // self.heads) ** 0.5
        if attention_mask.size() != (rows, 1, length, kv_length):
            raise ValueError(f"the mask is {attention_mask.size()}, not {(rows, 1, length, kv_length)}")
        weights = (weights + attention_mask).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).reshape(rows, length, width))


class CachesForCausalLM(PreTrainedModel):
    config_class = CachesConfig
    base_model_prefix = "model"
    _supports_cache_class = True

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Attention(config, number) for number in range(config.num_hidden_layers))
        self.head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def _init_weights(self, module):
        pass

    def forward(
        self,
        input_ids,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        use_cache=None,
        return_dict=None,
        **kwargs,
    ):
        use_cache = self.config.use_cache if use_cache is None else use_cache
        rows, length = input_ids.shape
        past_length = 0
        use_legacy_cache = False
        if use_cache:
            use_legacy_cache = not isinstance(past_key_values, Cache)
            if use_legacy_cache:
                past_key_values = DynamicCache.from_legacy_cache(past_key_values)
            past_length = past_key_values.get_usable_length(length)
        if position_ids is None:
            position_ids = torch.arange(past_length, past_length + length).unsqueeze(0)
        states = self.embed(input_ids) + torch.sin(position_ids[..., None] * 0.1)
        mask = _prepare_4d_causal_attention_mask(attention_mask, (rows, length), states, past_length)
        for layer in self.layers:
            states = states + layer(states, mask, past_key_values if use_cache else None)
        past = None
        if use_cache:
            past = past_key_values.to_legacy_cache() if use_legacy_cache else past_key_values
        return CausalLMOutputWithPast(logits=self.head(states), past_key_values=past)

    def prepare_inputs_for_generation(self, input_ids, past_key_values=None, attention_mask=None, **kwargs):
        if past_key_values is not None:
            if isinstance(past_key_values, Cache):
                cache_length = past_key_values.get_seq_length()
                past_length = past_key_values.seen_tokens
                max_cache_length = past_key_values.get_max_length()
            else:
                cache_length = past_length = past_key_values[0][0].shape[2]
                max_cache_length = None
            if attention_mask is not None and attention_mask.shape[1] > input_ids.shape[1]:
                input_ids = input_ids[:, -(attention_mask.shape[1] - past_length) :]
            elif past_length < input_ids.shape[1]:
                input_ids = input_ids[:, past_length:]
            if max_cache_length is not None and cache_length + input_ids.shape[1] > max_cache_length:
                attention_mask = attention_mask[:, -max_cache_length:]
        position_ids = None
        if attention_mask is not None:
            position_ids = attention_mask.long().cumsum(-1) - 1
            position_ids.masked_fill_(attention_mask == 0, 1)
            if past_key_values:
                position_ids = position_ids[:, -input_ids.shape[1] :]
        return {
            "input_ids": input_ids,
            "position_ids": position_ids,
            "past_key_values": past_key_values,
            "use_cache": kwargs.get("use_cache"),
            "attention_mask": attention_mask,
        }

    @staticmethod
    def _reorder_cache(past_key_values, beam_idx):
        reordered = ()
        for layer_past in past_key_values:
            reordered += (tuple(states.index_select(0, beam_idx.to(states.device)) for states in layer_past),)
        return reordered
