"""The proof: a model whose first layer is replaced by a module that collects what it is given."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.replaced_layer_without_self_attn import FIX, MODELS
from hotfix.proofs._decoder import SIZES
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {**SIZES, "eos_token_id": None}


class Catcher(torch.nn.Module):
    """Collects the inputs of a layer, and runs it."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module = module
        self.caught: list[Any] = []

    def forward(self, hidden: Any, **others: Any) -> Any:
        """The results of the layer."""
        self.caught.append(hidden)
        return self.module(hidden, **others)


@FIX.case(raises="AttributeError: 'Catcher' object has no attribute 'self_attn'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits and collected values, or generated tokens; with the layer in its place as well."""
    transformers = import_module("transformers")
    name = MODELS[target.module.rpartition(".modeling_")[2]][0]
    config = getattr(transformers, f"{name}Config")(**_SIZES)
    model = testbed.model(getattr(transformers, f"{name}ForCausalLM"), config, attn="eager").eval()
    tokens, layer, results = testbed.randint(3, 60, 2, 7), model.model.layers[0], {}
    with torch.no_grad():
        for label in ("as it is", "collected"):
            if target.qualname.endswith("prepare_inputs_for_generation"):
                mask = torch.ones_like(tokens)
                inputs = model.prepare_inputs_for_generation(tokens, attention_mask=mask, use_cache=True)
                results[label] = torch.cat([inputs["input_ids"], inputs["position_ids"]])
            else:
                results[label] = model(tokens, use_cache=False).logits
            model.model.layers[0] = Catcher(layer)
    if isinstance(model.model.layers[0], Catcher) and model.model.layers[0].caught:
        results["inputs"] = model.model.layers[0].caught[0]
    return results
