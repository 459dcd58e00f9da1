"""The proof: three models that prepare their inputs as remote code of 4.36 to 4.57 does; one row is padded."""

import sys
import types
from typing import Any

import torch

from hotfix.names.v5_older_prepare_inputs import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama

MODEL = '''
import torch
from torch import nn
from transformers import GenerationMixin, LlamaConfig, PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache
from transformers.modeling_outputs import CausalLMOutputWithPast


class Summing(PreTrainedModel, GenerationMixin):
    """Each token sees the mean of what came before, and its own position."""

    config_class = LlamaConfig

    def __init__(self, config):
        super().__init__(config)
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.places = nn.Embedding(64, config.hidden_size)
        self.head = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed

    def forward(
        self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, use_cache=None, **kwargs
    ):
        if isinstance(past_key_values, tuple):
            layers, past_key_values = past_key_values, DynamicCache()
            for number, (keys, values) in enumerate(layers):
                past_key_values.update(keys, values, number)
        states = (self.embed(input_ids) + self.places(position_ids))[:, None]
        if past_key_values is not None:
            states, _ = past_key_values.update(states, states, 0)
        weights = attention_mask[:, None, :, None].to(states.dtype)
        seen = (states * weights).cumsum(2) / weights.cumsum(2).clamp(min=1)
        logits = self.head(torch.tanh(seen[:, 0, -input_ids.shape[1]:]))
        return CausalLMOutputWithPast(logits=logits, past_key_values=past_key_values if use_cache else None)

    @staticmethod
    def _reorder_cache(past_key_values, beam_idx):
        return tuple(tuple(part.index_select(0, beam_idx) for part in layer) for layer in past_key_values)

    def inputs(self, input_ids, attention_mask, past_key_values, position_ids, **more):
        if position_ids is None:
            position_ids = attention_mask.long().cumsum(-1) - 1
            position_ids = position_ids.masked_fill(attention_mask == 0, 1)[:, -input_ids.shape[1]:]
        return {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "position_ids": position_ids,
            "past_key_values": past_key_values,
            **more,
        }


def length(past):
    return past.get_seq_length() if isinstance(past, Cache) else past[0][0].shape[2]


class ByTheCache(Summing):
    """As in 4.36 to 4.40."""

    def prepare_inputs_for_generation(self, input_ids, past_key_values=None, attention_mask=None, **kwargs):
        if past_key_values is not None:
            input_ids = input_ids[:, length(past_key_values):]
            if isinstance(past_key_values, Cache) and hasattr(past_key_values, "get_max_length"):
                limit = past_key_values.get_max_length()
                if limit is not None and length(past_key_values) + input_ids.shape[1] > limit:
                    attention_mask = attention_mask[:, -limit:]
        positions, use_cache = kwargs.get("position_ids"), kwargs.get("use_cache")
        return self.inputs(input_ids, attention_mask, past_key_values, positions, use_cache=use_cache)


class ByItsPosition(Summing):
    """As in 4.42 to 4.56."""

    def prepare_inputs_for_generation(
        self, input_ids, past_key_values=None, attention_mask=None, cache_position=None, position_ids=None, **kwargs
    ):
        if past_key_values is not None and input_ids.shape[1] != cache_position.shape[0]:
            input_ids = input_ids[:, cache_position]
        use_cache = kwargs["use_cache"]
        return self.inputs(input_ids, attention_mask, past_key_values, position_ids, use_cache=use_cache)


class OfAHybrid(Summing):
    """As in Jamba and Nemotron-H."""

    def prepare_inputs_for_generation(
        self, input_ids, past_key_values=None, attention_mask=None, cache_position=None, position_ids=None, **kwargs
    ):
        if past_key_values is not None:
            if cache_position[-1] >= input_ids.shape[1]:
                input_ids = input_ids[:, -cache_position.shape[0]:]
            elif input_ids.shape[1] != cache_position.shape[0]:
                input_ids = input_ids[:, cache_position]
        more = {"use_cache": kwargs["use_cache"], "cache_position": cache_position}
        return self.inputs(input_ids, attention_mask, past_key_values, position_ids, **more)
'''


class Streamer:
    """It keeps what it gets."""

    def __init__(self) -> None:
        self.tokens: list[torch.Tensor] = []

    def put(self, value: torch.Tensor) -> None:
        """Take tokens."""
        self.tokens.append(value.flatten())

    def end(self) -> None:
        """Take the end."""
        self.tokens.append(torch.tensor([-1]))


@FIX.case(
    raises=(
        "RuntimeError: The (size of tensor a|expanded size)|AttributeError: 'NoneType' object has no attribute "
        "'(shape|index_select)'|TypeError: 'NoneType' object is not subscriptable"
    ),
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Tokens: greedy, drawn, of beams, and those of a streamer."""
    import transformers

    config = llama(testbed, attn="eager", dtype=torch.float32).config
    config.num_hidden_layers = 1  # as many as the model has
    module = types.ModuleType("transformers_modules.tiny.modeling_summing")
    module.__file__ = __file__
    sys.modules[module.__name__] = module
    exec(MODEL, vars(module))
    prompt = testbed.randint(3, 60, 2, 5, seed=3)
    mask = torch.tensor([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]])
    options: dict[str, Any] = {"max_new_tokens": 6, "min_new_tokens": 6, "pad_token_id": 0, "use_cache": True}
    if transformers.__version__ == "5.0.0":  # it makes a cache only if the caller requests one
        options["cache_implementation"] = "dynamic"
    results = {}
    for kind in (module.ByTheCache, module.ByItsPosition, module.OfAHybrid):
        model = testbed.fill(kind(config)).eval()
        runs: dict[str, dict[str, Any]] = {"beams": {"num_beams": 2}, "greedy": {}, "drawn": {"do_sample": True}}
        for name, more in runs.items():
            torch.manual_seed(7)
            results[f"{kind.__name__} {name}"] = model.generate(
                prompt, attention_mask=mask, **{"do_sample": False, **options, **more}
            )
        streamer = Streamer()
        torch.manual_seed(7)
        model.generate(prompt[1:], attention_mask=mask[1:], do_sample=True, streamer=streamer, **options)
        results[f"{kind.__name__} stream"] = torch.cat(streamer.tokens)
    return results
