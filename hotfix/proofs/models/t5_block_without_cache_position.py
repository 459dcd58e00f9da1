"""A layer of a tiny T5, or of a model like it, that a stack of the program's own calls."""

import importlib
from typing import Any

import torch

from hotfix.models.t5_block_without_cache_position import FIX
from hotfix.proofs.testbed import Target, Testbed

CONFIGURATIONS = {"pix2struct": "Pix2StructTextConfig", "switch_transformers": "SwitchTransformersConfig"}


@FIX.case(
    raises="TypeError: 'NoneType' object is not subscriptable",
    oracles={"*": "4.45.2"},
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the layer makes of states, with and without those of an encoder."""
    block = testbed.fill(layer(target)).eval()
    states, encoded = testbed.randn(2, 5, 16, seed=1), testbed.randn(2, 7, 16, seed=2)
    mask = torch.zeros(2, 1, 5, 5)
    return {
        "alone": block(states, attention_mask=mask)[0],
        "with an encoder": block(states, attention_mask=mask, encoder_hidden_states=encoded)[0],
    }


def layer(target: Target) -> Any:
    """The decoder layer of the model whose module the target is in."""
    module = importlib.import_module(target.module)
    folder = target.module.split(".")[2]
    name = target.qualname.split(".")[0].replace("Attention", "Block")
    config_class = getattr(module, CONFIGURATIONS.get(folder, name.replace("Block", "Config")))
    sizes = {"d_model": 16, "hidden_size": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    config = config_class(**sizes, vocab_size=32, is_decoder=True, dropout_rate=0.0)
    if folder == "switch_transformers":
        return getattr(module, name)(config, has_relative_attention_bias=True, is_sparse=False)
    return getattr(module, name)(config, has_relative_attention_bias=True)
