# mypy: ignore-errors
"""A model inside of another one in the manner of InternVL: ``rope_scaling["type"]``, a list of tied weights."""

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast


class RopeConfig(PretrainedConfig):
    model_type = "tiny_rope"

    def __init__(
        self,
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        rope_theta=10000,
        rope_scaling=None,
        tie_word_embeddings=True,
        use_cache=True,
        **kwargs,
    ):
        self.use_cache = use_cache
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.rope_theta = rope_theta
        self.rope_scaling = rope_scaling
        self._rope_scaling_validation()
        super().__init__(tie_word_embeddings=tie_word_embeddings, **kwargs)

    def _rope_scaling_validation(self):
        if self.rope_scaling is None:
            return
        if not isinstance(self.rope_scaling, dict) or len(self.rope_scaling) != 2:
            raise ValueError(f"`rope_scaling` must have two fields, got {self.rope_scaling}")
        if self.rope_scaling.get("type", None) not in ("linear", "dynamic"):
            raise ValueError(f"`rope_scaling` has no known type: {self.rope_scaling}")


class Rotary(nn.Module):
    def __init__(self, width, base, factor=1.0):
        super().__init__()
        self.width, self.base, self.factor = width, base, factor

    def forward(self, states, position_ids):
        inverse = 1.0 / self.base ** (torch.arange(0, self.width, 2, dtype=torch.float32) / self.width)
        angles = (position_ids[..., None] / self.factor) * inverse
        cos, sin = torch.cat((angles, angles), -1).cos()[:, None], torch.cat((angles, angles), -1).sin()[:, None]
        first, second = states.chunk(2, dim=-1)
        return states * cos + torch.cat((-second, first), dim=-1) * sin


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wqkv = nn.Linear(config.hidden_size, 3 * config.hidden_size, bias=False)
        self.wo = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self._init_rope()

    def _init_rope(self):
        if self.config.rope_scaling is None:
            self.rotary = Rotary(self.config.hidden_size, self.config.rope_theta)
        else:
            kind, factor = self.config.rope_scaling["type"], self.config.rope_scaling["factor"]
            if kind not in ("linear", "dynamic"):
                raise ValueError("Currently we only support rotary embedding's type being 'dynamic' or 'linear'.")
            self.rotary = Rotary(self.config.hidden_size, self.config.rope_theta, factor)

    def forward(self, states, mask, position_ids, past, use_cache):
        query, key, value = self.wqkv(states)[:, None].chunk(3, dim=-1)
        query, key = self.rotary(query, position_ids), self.rotary(key, position_ids)
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        weights = (query @ key.transpose(2, 3) / states.shape[-1] ** 0.5 + mask).softmax(-1)
        return states + self.wo((weights @ value)[:, 0]), ((key, value) if use_cache else None)


class RopePreTrainedModel(PreTrainedModel):
    config_class = RopeConfig
    base_model_prefix = "model"

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            module.weight.data.normal_(mean=0.0, std=0.02)


class RopeForCausalLM(RopePreTrainedModel):
    _tied_weights_keys = ["output.weight"]  # noqa: RUF012

    def __init__(self, config):
        super().__init__(config)
        self.tok_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))
        self.output = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.tok_embeddings

    def get_output_embeddings(self):
        return self.output

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
        past_length = past_key_values[0][0].shape[2] if past_key_values is not None else 0
        if position_ids is None:
            position_ids = torch.arange(past_length, past_length + length).unsqueeze(0)
        if attention_mask is None:
            attention_mask = torch.ones(rows, past_length + length)
        seen = torch.ones(length, past_length + length).tril(past_length).bool() & attention_mask[:, None, None].bool()
        mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
        states, presents = self.tok_embeddings(input_ids), ()
        for number, layer in enumerate(self.layers):
            past = past_key_values[number] if past_key_values is not None else None
            states, present = layer(states, mask, position_ids, past, use_cache)
            presents += (present,)
        return CausalLMOutputWithPast(logits=self.output(states), past_key_values=presents if use_cache else None)

    def prepare_inputs_for_generation(self, input_ids, past_key_values=None, attention_mask=None, **kwargs):
        if past_key_values is not None:
            past_length = past_key_values[0][0].shape[2]
            remove = past_length if input_ids.shape[1] > past_length else input_ids.shape[1] - 1
            input_ids = input_ids[:, remove:]
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
        return tuple(tuple(states.index_select(0, beam_idx) for states in layer) for layer in past_key_values)


class RopeChatModel(PreTrainedModel):
    config_class = RopeConfig

    def __init__(self, config):
        super().__init__(config)
        self.language_model = RopeForCausalLM(config)

    def forward(self, input_ids, attention_mask=None):
        return self.language_model(input_ids, attention_mask, use_cache=False)

    @torch.no_grad()
    def generate(self, input_ids, attention_mask=None, **options):
        return self.language_model.generate(
            input_ids=input_ids, attention_mask=attention_mask, use_cache=True, **options
        )
