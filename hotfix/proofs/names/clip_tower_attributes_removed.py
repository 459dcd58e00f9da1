"""The proof: the parts of a tower are read, and the model inside of it is called, as diffusers does."""

import importlib

import torch

from hotfix.names.clip_tower_attributes_removed import FIX
from hotfix.proofs.testbed import Target, Testbed

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_groups": 1,
    "vocab_size": 64,
    "max_position_embeddings": 16,
    "image_size": 28,
    "patch_size": 14,
    "num_patches": 4,
    "projection_dim": 16,
    "projection_size": 32,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "num_frames": 2,
    "mit_hidden_size": 32,
    "mit_intermediate_size": 48,
    "mit_num_hidden_layers": 1,
    "mit_num_attention_heads": 4,
}


@FIX.case(raises="AttributeError: '\\w+' object has no attribute '(text|vision)_model'", oracles={"*": "5.5.4"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A part, what the last norm does, the output of the whole, and weights under the names that they had."""
    cls = getattr(importlib.import_module(target.module), target.qualname.partition(".")[0])
    of_text = "Text" in cls.__name__
    outer, other = (cls(cls.config_class(**SMALL)).eval() for _ in range(2))
    # The names of the parameters are those of the oracle but for a prefix; their order is not.
    prefix = "text_model." if of_text else "vision_model."
    parameters = {name.removeprefix(prefix): parameter for name, parameter in outer.named_parameters()}
    for number, name in enumerate(sorted(parameters)):
        parameters[name].data = testbed.randn(*parameters[name].shape, seed=number) * 0.2
    inner = outer.text_model if of_text else outer.vision_model
    other.load_state_dict(
        {f"{prefix}{name.removeprefix(prefix)}": tensor for name, tensor in outer.state_dict().items()}
    )
    results = {
        "weight": inner.encoder.layers[0].mlp.fc1.weight,
        "parameters": torch.tensor(sum(parameter.numel() for parameter in inner.parameters())),
        "parts": torch.tensor(len(list(inner.children()))),
    }
    if of_text:
        given = testbed.randint(3, 60, 2, 6, seed=1)
        results["normed"] = inner.final_layer_norm(testbed.randn(2, 3, 32, seed=2))
    elif "siglip2" not in target.module:  # which takes patches, with their number
        given = testbed.randn(2, 3, 28, 28, seed=1)
    else:
        return {name: tensor.detach() for name, tensor in results.items()}
    results["output"] = inner(given).last_hidden_state
    results["loaded"] = other(given).last_hidden_state
    return {name: tensor.detach() for name, tensor in results.items()}
