# mypy: ignore-errors
"""A decoder in the manner of DeepSeek-VL2 and Florence-2: tables of attention classes, flags of a model inside."""

import torch
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaFlashAttention2
from transformers.pytorch_utils import ALL_LAYERNORM_LAYERS, is_torch_greater_or_equal_than_1_13
from transformers.utils import is_flash_attn_greater_or_equal_2_10, logging
from transformers.utils.import_utils import is_torch_fx_available

logger = logging.get_logger(__name__)

if is_torch_fx_available() and not is_torch_greater_or_equal_than_1_13:
    import torch.fx


class AttentionConfig(PretrainedConfig):
    model_type = "tiny_attention"

    def __init__(
        self,
        vocab_size=64,
        hidden_size=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        use_cache=True,
        tie_word_embeddings=True,
        **kwargs,
    ):
        self.use_cache = use_cache
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_attention_heads = num_attention_heads
        self.num_hidden_layers = num_hidden_layers
        super().__init__(tie_word_embeddings=tie_word_embeddings, **kwargs)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, states):
        return self.weight * states * torch.rsqrt(states.pow(2).mean(-1, keepdim=True) + 1e-6)


ALL_LAYERNORM_LAYERS.append(Norm)


class EagerAttention(nn.Module):
    def __init__(self, config, layer_idx=None):
        super().__init__()
        self.layer_idx = layer_idx
        self.heads = config.num_attention_heads
        self.width = config.hidden_size // self.heads
        self.projections = nn.ModuleList(nn.Linear(config.hidden_size, config.hidden_size) for _ in range(4))

    def forward(self, states, attention_mask=None, past_key_value=None):
        rows, length, _ = states.shape
        query, key, value = (
            project(states).view(rows, length, self.heads, self.width).transpose(1, 2)
            for project in self.projections[:3]
        )
        kv_seq_len = key.shape[-2]
        if past_key_value is not None:
            kv_seq_len += past_key_value.get_usable_length(kv_seq_len, self.layer_idx)
            key, value = past_key_value.update(key, value, self.layer_idx)
        weights = (query @ key.transpose(2, 3) * self.width**-0.5 + attention_mask[..., :kv_seq_len]).softmax(-1)
        return self.projections[3]((weights @ value).transpose(1, 2).reshape(rows, length, -1))


ATTENTION_CLASSES = {
    "eager": EagerAttention,
    "sdpa": EagerAttention,
    "mha_eager": LlamaAttention,
    "mha_flash_attention_2": LlamaFlashAttention2,
}


class AttentionPreTrainedModel(PreTrainedModel):
    config_class = AttentionConfig
    base_model_prefix = "model"
    _supports_flash_attn_2 = True
    _supports_sdpa = True
    _supports_cache_class = True

    def _init_weights(self, module):
        pass


class AttentionForCausalLM(AttentionPreTrainedModel):
    _tied_weights_keys = ["lm_head.weight"]  # noqa: RUF012

    def __init__(self, config):
        super().__init__(config)
        self.old_flash = not is_flash_attn_greater_or_equal_2_10()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        kind = ATTENTION_CLASSES[config._attn_implementation]
        self.layers = nn.ModuleList(kind(config, layer_idx=number) for number in range(config.num_hidden_layers))
        self.norm = Norm(config.hidden_size)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed_tokens

    def get_output_embeddings(self):
        return self.lm_head

    def tie_weights(self):
        if self.config.tie_word_embeddings:
            self._tie_or_clone_weights(self.lm_head, self.embed_tokens)

    def forward(
        self, input_ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None, **kwargs
    ):
        use_cache = self.config.use_cache if use_cache is None else use_cache
        length = input_ids.shape[1]
        past_length = 0
        if use_cache:
            if not isinstance(past_key_values, Cache):
                past_key_values = DynamicCache.from_legacy_cache(past_key_values)
            past_length = past_key_values.get_usable_length(length)
        total = past_length + length
        if attention_mask is None:
            attention_mask = torch.ones(input_ids.shape[0], total)
        seen = torch.ones(length, total).tril(past_length).bool() & attention_mask[:, None, None].bool()
        mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)
        if position_ids is None:
            position_ids = torch.arange(past_length, total).unsqueeze(0)
        states = self.embed_tokens(input_ids) + torch.sin(position_ids[..., None] * 0.3)
        for layer in self.layers:
            states = states + layer(self.norm(states), mask, past_key_values if use_cache else None)
        return CausalLMOutputWithPast(
            logits=self.lm_head(states).float(), past_key_values=past_key_values if use_cache else None
        )

    def prepare_inputs_for_generation(self, input_ids, past_key_values=None, attention_mask=None, **kwargs):
        if past_key_values is not None:
            past_length = past_key_values.seen_tokens
            if past_length < input_ids.shape[1]:
                input_ids = input_ids[:, past_length:]
        position_ids = attention_mask.long().cumsum(-1) - 1
        position_ids.masked_fill_(attention_mask == 0, 1)
        return {
            "input_ids": input_ids,
            "position_ids": position_ids[:, -input_ids.shape[1] :],
            "past_key_values": past_key_values,
            "use_cache": kwargs.get("use_cache"),
            "attention_mask": attention_mask,
        }


class AttentionForConditionalGeneration(AttentionPreTrainedModel):
    def __init__(self, config):
        super().__init__(config)
        self.language_model = AttentionForCausalLM(config)
        self.post_init()

    @property
    def _supports_flash_attn_2(self):
        return self.language_model._supports_flash_attn_2

    @property
    def _supports_sdpa(self):
        return self.language_model._supports_sdpa

    def get_input_embeddings(self):
        return self.language_model.get_input_embeddings()

    def get_output_embeddings(self):
        return self.language_model.get_output_embeddings()

    def tie_weights(self):
        return self.language_model.tie_weights()

    def forward(self, input_ids, attention_mask=None):
        return self.language_model(input_ids, attention_mask, use_cache=False)

    def generate(self, input_ids, **options):
        return self.language_model.generate(input_ids, **options)
