"""Custom classes that extend Qwen2-VL, LLaVA and Mixtral are loaded from files with the names of the Hub."""

import tempfile
from typing import Any

import torch

from hotfix.loading.v5_subclass_weights_not_converted import FIX
from hotfix.proofs._llava import llava, named, qwen2_vl, save
from hotfix.proofs.testbed import Target, Testbed

NAMES = {
    "Qwen2VLForConditionalGeneration": "model",
    "Qwen2VLModel": "",
    "LlavaForConditionalGeneration": "model",
    "LlavaModel": "",
    "MixtralForCausalLM": "model",
    "MixtralModel": "",
}
"""Classes of the library, with the prefix of their weights."""


def extended(name: str) -> Any:
    """A class from outside of the library that extends one of its classes."""
    import transformers

    return type("Reward", (getattr(transformers, name),), {"__module__": __name__})


def write(testbed: Testbed, name: str, folder: str) -> None:
    """Save the weights of a model under the names of the Hub.

    Args:
        testbed: fills the model.
        name: of a class in `NAMES`.
        folder: the folder.
    """
    from transformers import MixtralConfig, MixtralForCausalLM

    if name.startswith("Mixtral"):
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
        config = MixtralConfig(vocab_size=64, num_key_value_heads=1, num_local_experts=4, **sizes)
        testbed.fill(MixtralForCausalLM(config)).save_pretrained(folder)
        return
    if name.startswith("Llava"):
        model = llava(testbed)
        weights = named(model, "old")
    else:
        model = qwen2_vl(testbed)
        bare = {key.removeprefix("model."): value for key, value in model.state_dict().items()}
        weights = {key.replace("language_model.", "model.", 1): value.clone() for key, value in bare.items()}
    model.config.save_pretrained(folder)
    save(weights, f"{folder}/model.safetensors")


@FIX.case(oracles={"*": "5.5.4"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """All weights of subclasses, and of the library's models of Qwen, loaded and loaded again after saving."""
    import transformers

    results = {}
    for name, prefix in NAMES.items():
        classes = {"own": extended(name)}
        if name == "Qwen2VLModel":
            classes["library"] = getattr(transformers, name)
        with tempfile.TemporaryDirectory() as hub, tempfile.TemporaryDirectory() as again:
            write(testbed, name, hub)
            for whose, cls in classes.items():
                loaded = cls.from_pretrained(hub)
                loaded.save_pretrained(again)
                for when, model in (("loaded", loaded), ("again", cls.from_pretrained(again))):
                    for key, value in model.state_dict().items():
                        part = key.replace("vision_model.", "")
                        results[f"{name}, {whose}, {when}, {part.removeprefix(f'{prefix}.')}"] = value.float()
    return results
