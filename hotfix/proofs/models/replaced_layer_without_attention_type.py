"""The proof: a model whose layers are replaced one after the other by a module that collects what it is given."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.replaced_layer_without_attention_type import FIX
from hotfix.proofs._decoder import SIZES
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {
    **SIZES,
    "sliding_window": 3,
    "use_sliding_window": True,
    "max_window_layers": 1,
    "max_position_embeddings": 64,
}
_FURTHER: dict[str, dict[str, Any]] = {
    "gpt_oss": {"num_local_experts": 2, "num_experts_per_tok": 1},
    "qwen2_vl": {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}},
    "qwen2_5_vl": {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}},
}
_CONFIGS = {"gemma3": "Gemma3TextConfig", "qwen2_vl": "Qwen2VLTextConfig", "qwen2_5_vl": "Qwen2_5_VLTextConfig"}


class Catcher(torch.nn.Module):
    """Collects the inputs of a layer, which it may run."""

    def __init__(self, layer: Any, inside: bool) -> None:
        super().__init__()
        self.caught: dict[str, Any] = {}
        self.behind = layer if inside else [layer]

    def forward(self, hidden: Any, **others: Any) -> Any:
        """What the layer returns."""
        self.caught = {"hidden": hidden, **others}
        layer = self.behind if isinstance(self.behind, torch.nn.Module) else self.behind[0]
        return layer(hidden, **others)


@FIX.case(raises="AttributeError: 'Catcher' object has no attribute 'attention_type'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What a collector in the place of each layer gets, the layer inside of it or not, and what the model returns."""
    folder = target.module.rpartition(".modeling_")[2]
    modeling = import_module(target.module)
    configuration = import_module(target.module.replace("modeling_", "configuration_"))
    name = target.qualname.partition(".")[0]
    config = getattr(configuration, _CONFIGS.get(folder, name.replace("Model", "Config")))(
        **{**_SIZES, **_FURTHER.get(folder, {})}
    )
    model = testbed.model(getattr(modeling, name), config, attn="eager")
    tokens, results = testbed.randint(3, 60, 2, 7), {}
    with torch.no_grad():
        results["as it is"] = model(input_ids=tokens, use_cache=False).last_hidden_state
        for place in range(2):
            for inside in (False, True):
                layer = model.layers[place]
                catcher = model.layers[place] = Catcher(layer, inside)
                label = f"{place} {inside}"
                results[label] = model(input_ids=tokens, use_cache=False).last_hidden_state
                results[f"{label}: mask"] = catcher.caught["attention_mask"].float()
                results[f"{label}: hidden"] = catcher.caught["hidden"]
                model.layers[place] = layer
    return results
