"""The proof: a program's own model calls an encoder with all the arguments that it took."""

import importlib
from typing import Any

import torch

from hotfix.names.arguments_of_encoders_removed import FIX
from hotfix.proofs.testbed import Target, Testbed

SIZES = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
CONFIGURATIONS = {"CLIP": "CLIPTextConfig", "DPTViT": "DPTConfig", "Idefics3": "Idefics3VisionConfig"}
ASKS_FOR_NOTHING = {"output_attentions": False, "output_hidden_states": False}


@FIX.case(
    raises="TypeError: .*forward\\(\\) got an unexpected keyword argument",
    oracles={
        "transformers.models.clip.modeling_clip:CLIPEncoder.forward": "4.53.3",
        "transformers.models.idefics3.modeling_idefics3:Idefics3Encoder.forward": "4.56.2",
        "transformers.models.mllama.modeling_mllama:MllamaVisionEncoder.forward": "4.54.1",
        "*": "4.55.4",
    },
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its last states by name, and by number where a tuple is asked for."""
    encoder = testbed.fill(made(target)).eval()
    states = testbed.randn(2, 6, 16, seed=1)
    return {
        "by name": encoder(states, return_dict=True, **ASKS_FOR_NOTHING).last_hidden_state,
        "by number": encoder(states, return_dict=False, **ASKS_FOR_NOTHING)[0],
    }


def made(target: Target) -> Any:
    """The encoder of a tiny model."""
    module = importlib.import_module(target.module)
    name = target.qualname.partition("Encoder.")[0]
    configuration = getattr(module, CONFIGURATIONS.get(name, f"{name}Config"))(**SIZES)
    configuration._attn_implementation = "eager"
    return getattr(module, f"{name}Encoder")(configuration)
