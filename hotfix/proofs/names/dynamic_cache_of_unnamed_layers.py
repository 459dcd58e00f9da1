"""The proof: a model whose configuration says ``num_layers`` writes tokens with a cache."""

import inspect
from typing import Any

import torch

from hotfix.names.dynamic_cache_of_unnamed_layers import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="AttributeError: .* object has no attribute 'num_hidden_layers'",
    oracles={"*": "4.55.4"},
    with_fixes=("own-forward-with-past-key-values",),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The tokens, and the length of a cache that is made by hand."""
    from transformers import DynamicCache, GenerationMixin, PretrainedConfig, PreTrainedModel
    from transformers.modeling_outputs import CausalLMOutputWithPast

    class Config(PretrainedConfig):
        model_type = "of_num_layers"

        def __init__(self, num_layers: int = 1, **kwargs: Any) -> None:
            self.num_layers, self.hidden_size, self.num_attention_heads = num_layers, 8, 1
            self.max_position_embeddings = 32
            super().__init__(**kwargs)

    class Model(PreTrainedModel, GenerationMixin):
        config_class = Config

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.embeddings = torch.nn.Embedding(32, 8)
            self.post_init()

        def forward(
            self, input_ids: Any, past_key_values: Any = None, attention_mask: Any = None, **kwargs: Any
        ) -> Any:
            states = self.embeddings(input_ids)
            if past_key_values is not None:
                states = past_key_values.update(states[:, None], states[:, None], 0)[0][:, 0].cumsum(1)
                states = states[:, -input_ids.shape[1] :]
            logits = states @ self.embeddings.weight.T
            return CausalLMOutputWithPast(logits=logits, past_key_values=past_key_values)

    model = testbed.fill(Model(Config())).eval()
    ids = testbed.randint(5, 30, 1, 4, seed=2)
    given = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
    results = {"tokens": model.generate(ids, **given)}
    takes_one = "config" in inspect.signature(DynamicCache.__init__).parameters
    cache = DynamicCache(None, model.config) if takes_one else DynamicCache()
    cache.update(torch.ones(1, 1, 3, 8), torch.ones(1, 1, 3, 8), 0)
    results["length"] = torch.tensor(cache.get_seq_length())
    return results
