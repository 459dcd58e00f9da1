"""The proof: output classes as remote code declares them, made by name, read, changed, copied and pickled."""

from typing import Any

import torch

from hotfix.names.own_outputs_with_past_key_values import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(oracles={"*": "5.23.0"}, raises="TypeError: .*unexpected keyword argument 'cache'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Values of shape (2, 3), under their names and places."""
    import copy
    from dataclasses import dataclass, field, fields

    from transformers.modeling_outputs import CausalLMOutputWithPast
    from transformers.utils import ModelOutput

    @dataclass
    class Llava(ModelOutput):
        loss: Any = None
        logits: Any = None
        past_key_values: Any = None
        image_features: Any = field(default=None)

    @dataclass
    class Mamba(ModelOutput):
        cache_params: Any
        logits: Any = None

    @dataclass
    class Longer(CausalLMOutputWithPast):
        extra: Any = None

    tensors = testbed.randn(4, 2, 3).unbind()
    by_name = Llava(logits=tensors[0], past_key_values=tensors[1], image_features=tensors[2])
    changed = Llava(logits=tensors[0], past_key_values=None)
    changed.past_key_values = tensors[3]
    made = {
        "by name": by_name,
        "changed": changed,
        "copied": copy.deepcopy(by_name),
    }
    results = {}
    for name, output in made.items():
        results[f"{name}: attribute"] = output.past_key_values
        results[f"{name}: key"] = output["past_key_values"]
        results[f"{name}: place"] = output[1]
        results[f"{name}: found"] = torch.tensor(["past_key_values" in output, "loss" in output])
        results[f"{name}: keys"] = torch.tensor([list(output).index(key) for key in ("logits", "past_key_values")])
        results[f"{name}: fields"] = torch.tensor(len(fields(output)))
    mamba = Mamba(cache_params=tensors[0], logits=tensors[1])
    longer = Longer(logits=tensors[0], past_key_values=tensors[1], extra=tensors[2])
    return {
        **results,
        "cache_params": mamba.cache_params,
        "cache_params by key": mamba["cache_params"],
        "of the library": longer.past_key_values,
        "of the library by key": longer["past_key_values"],
        "more": longer.extra,
    }
