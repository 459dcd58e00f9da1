# mypy: ignore-errors
"""A decoder like ChatGLM: a past of tuples, and an override of the code between two steps."""

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast


class GenerationConfigOfOurs(PretrainedConfig):
    model_type = "tiny_generation"

    def __init__(self, vocab_size=64, hidden_size=32, num_layers=2, use_cache=True, **kwargs):
        self.use_cache = use_cache
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.num_hidden_layers = num_layers
        super().__init__(**kwargs)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.query_key_value = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, states, full_mask, past, use_cache):
        query, key, value = self.query_key_value(states)[:, None].chunk(3, dim=-1)
        if past is not None:
            key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
        weights = query @ key.transpose(2, 3) / states.shape[-1] ** 0.5
        weights = weights.masked_fill(full_mask, torch.finfo(weights.dtype).min).softmax(-1)
        return self.dense((weights @ value)[:, 0]), ((key, value) if use_cache else None)


class GenerationForConditionalGeneration(PreTrainedModel):
    config_class = GenerationConfigOfOurs
    base_model_prefix = "transformer"

    def __init__(self, config):
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(config) for _ in range(config.num_layers))
        self.output_layer = nn.Linear(config.hidden_size, config.vocab_size)

    def _init_weights(self, module):
        return

    def get_position_ids(self, input_ids):
        return torch.arange(input_ids.shape[1]).unsqueeze(0).repeat(input_ids.shape[0], 1)

    def get_masks(self, input_ids, past_key_values, padding_mask):
        rows, length = input_ids.shape
        past_length = past_key_values[0][0].shape[2] if past_key_values else 0
        seen = torch.ones(rows, length, past_length + length).tril(past_length)
        if padding_mask is not None:
            seen = seen * padding_mask.unsqueeze(1)
        return (seen < 0.5).unsqueeze(1)

    def forward(
        self,
        input_ids,
        position_ids=None,
        attention_mask=None,
        past_key_values=None,
        use_cache=None,
        return_dict=None,
        return_last_logit=False,
        **kwargs,
    ):
        use_cache = self.config.use_cache if use_cache is None else use_cache
        position_ids = self.get_position_ids(input_ids) if position_ids is None else position_ids
        states = self.embedding(input_ids) + torch.cos(position_ids[..., None] * 0.2)
        full_mask = self.get_masks(input_ids, past_key_values, attention_mask)
        presents = ()
        for number, layer in enumerate(self.layers):
            past = past_key_values[number] if past_key_values else None
            change, present = layer(states, full_mask, past, use_cache)
            states = states + change
            presents += (present,)
        if return_last_logit:
            states = states[:, -1:]
        return CausalLMOutputWithPast(logits=self.output_layer(states), past_key_values=presents if use_cache else None)

    def _update_model_kwargs_for_generation(
        self, outputs, model_kwargs, is_encoder_decoder=False, standardize_cache_format=False
    ):
        model_kwargs["past_key_values"] = self._extract_past_from_model_output(
            outputs, standardize_cache_format=standardize_cache_format
        )
        if "attention_mask" in model_kwargs:
            attention_mask = model_kwargs["attention_mask"]
            one_more = attention_mask.new_ones((attention_mask.shape[0], 1))
            model_kwargs["attention_mask"] = torch.cat([attention_mask, one_more], dim=-1)
        if "position_ids" in model_kwargs:
            position_ids = model_kwargs["position_ids"]
            model_kwargs["position_ids"] = torch.cat([position_ids, position_ids[..., -1:] + 1], dim=-1)
        model_kwargs["is_first_forward"] = False
        return model_kwargs

    def prepare_inputs_for_generation(
        self,
        input_ids,
        past_key_values=None,
        attention_mask=None,
        position_ids=None,
        use_cache=None,
        is_first_forward=True,
        **kwargs,
    ):
        if position_ids is None:
            position_ids = self.get_position_ids(input_ids)
        if not is_first_forward and past_key_values is not None:
            position_ids = position_ids[..., -1:]
            input_ids = input_ids[:, -1:]
        return {
            "input_ids": input_ids,
            "past_key_values": past_key_values,
            "position_ids": position_ids,
            "attention_mask": attention_mask,
            "return_last_logit": True,
            "use_cache": use_cache,
        }

    @staticmethod
    def _reorder_cache(past, beam_idx):
        return tuple(
            (
                layer[0].index_select(0, beam_idx.to(layer[0].device)),
                layer[1].index_select(0, beam_idx.to(layer[1].device)),
            )
            for layer in past
        )
