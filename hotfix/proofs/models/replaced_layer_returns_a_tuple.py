"""The proof: a model with custom layers that return tuples, alone and next to the library's."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.replaced_layer_returns_a_tuple import FIX, MODELS
from hotfix.proofs._decoder import SIZES
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {**SIZES, "num_hidden_layers": 3, "sliding_window": None}


class Own(torch.nn.Module):
    """A layer in the manner of TransformerEngine's."""

    attention_type = "full_attention"

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(size, size)

    def forward(self, hidden_states: Any, *args: Any, **others: Any) -> Any:
        """A pair."""
        return (torch.tanh(self.linear(hidden_states.contiguous())), None)


class Around(torch.nn.Module):
    """A layer of the library, in a tuple."""

    attention_type = "full_attention"

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, hidden_states: Any, **others: Any) -> Any:
        """A tuple."""
        result = self.layer(hidden_states, **others)
        return result if isinstance(result, tuple) else (result,)


@FIX.case(oracles={"*": "4.53.3"}, raises="AttributeError: 'tuple' object has no attribute|TypeError: .*tuple")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Hidden states behind the model as it is, with all layers replaced, and with each one alone."""
    folder = target.module.rpartition(".modeling_")[2]
    name = MODELS[folder]
    config = getattr(import_module(target.module.replace("modeling_", "configuration_")), f"{name}Config")(**_SIZES)
    model = testbed.model(
        getattr(import_module(target.module), f"{name}Model"), config, attn="eager", dtype=torch.float32
    ).eval()
    tokens, layers, results = testbed.randint(3, 60, 2, 7), list(model.layers), {}
    with torch.no_grad():
        results["as it is"] = model(input_ids=tokens, use_cache=False).last_hidden_state
        for label, changed in (("all", (0, 1, 2)), *((f"layer {at}", (at,)) for at in range(3))):
            for at, layer in enumerate(layers):
                own = testbed.fill(Own(32)) if label == "all" else Around(layer)
                model.layers[at] = own if at in changed else layer
            results[label] = model(input_ids=tokens, use_cache=False).last_hidden_state
    return results
