"""The proof: a model with custom layers, or attentions, that were written for 4.37."""

from importlib import import_module
from typing import Any, Optional

import torch

from hotfix.models.replaced_layer_without_cache_position import FIX, MODELS
from hotfix.proofs._decoder import SIZES
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {**SIZES, "num_hidden_layers": 3, "num_key_value_heads": 4, "sliding_window": None}


class QDecoderLayer(torch.nn.Module):
    """A layer with an attention of its own, or this attention alone, and positions and a cache as in 4.37.

    The two attributes are those of other fixes: some releases ask for them.
    """

    attention_type = "full_attention"
    self_attn = None

    def __init__(self, size: int, at: int, alone: bool = False) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(size, 3 * size)
        self.at = at
        self.alone = alone

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: Optional[torch.Tensor] = None,
        position_ids: Optional[torch.Tensor] = None,
        past_key_value: Any = None,
        output_attentions: bool = False,
        use_cache: bool = False,
    ) -> tuple[Any, ...]:
        """Hidden states, and the cache; of the attention alone, no weights between them."""
        query, key, value = self.linear(hidden_states).chunk(3, dim=-1)
        assert position_ids is not None
        assert attention_mask is not None
        key = key * (position_ids[..., None] + 1)
        if past_key_value is not None:
            key, value = (part[:, 0] for part in past_key_value.update(key[:, None], value[:, None], self.at, {}))
        weights = query @ key.transpose(1, 2) + attention_mask[:, 0]
        change = weights.softmax(-1) @ value
        if self.alone:
            return change, None, past_key_value
        result = hidden_states + change
        return (result, past_key_value) if use_cache else (result,)


@FIX.case(oracles={"*": "4.37.2"}, raises="TypeError: .*forward.. got an unexpected keyword argument")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Hidden states with padding, with a cache and after it, and with layers of both kinds."""
    folder = target.module.rpartition(".modeling_")[2]
    name = MODELS[folder][0]
    is_layer = target.qualname == f"{name}Model.forward"
    config = getattr(import_module(target.module.replace("modeling_", "configuration_")), f"{name}Config")(**_SIZES)
    model = testbed.model(
        getattr(import_module(target.module), f"{name}Model"), config, attn="eager", dtype=torch.float32
    ).eval()
    tokens, mask, results = testbed.randint(3, 60, 2, 7), torch.ones(2, 8, dtype=torch.long), {}
    mask[0, :2] = 0
    mask = mask.to(tokens.device)
    with torch.no_grad():
        results["as it is"] = model(tokens, mask[:, :7], use_cache=False).last_hidden_state
        for label, changed in (("all", (0, 1, 2)), ("one", (1,))):
            for at in changed:
                if is_layer:
                    model.layers[at] = testbed.fill(QDecoderLayer(32, at))
                elif label == "all":
                    model.layers[at].self_attn = testbed.fill(QDecoderLayer(32, at, alone=True))
                else:
                    model.layers[at].self_attn.forward = testbed.fill(QDecoderLayer(32, at, alone=True)).forward
            results[label] = model(tokens, mask[:, :7], use_cache=False).last_hidden_state
            first = model(tokens, mask[:, :7], use_cache=True)
            then = model(tokens[:, :1], mask, past_key_values=first.past_key_values, use_cache=True)
            results[f"{label}: cache"], results[f"{label}: then"] = first.last_hidden_state, then.last_hidden_state
    return results
