"""Small vision-language models and files with their weights."""

from typing import Any

import torch

from hotfix.proofs.testbed import Testbed

ENDS = (
    "embeddings.class_embedding",
    "encoder.layers.0.mlp.fc1.weight",
    "multi_modal_projector.linear_1.weight",
    "layers.0.mlp.gate_proj.weight",
    "lm_head.weight",
)
"""Ends of names, with a weight of each part."""


def llava(testbed: Testbed) -> Any:
    """The model, filled."""
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = CLIPVisionConfig(image_size=28, patch_size=14, **sizes)
    text = LlamaConfig(vocab_size=64, **sizes)
    config = LlavaConfig(vision_config=vision, text_config=text)
    return testbed.fill(LlavaForConditionalGeneration(config))


def qwen2_vl(testbed: Testbed) -> Any:
    """A small Qwen2-VL, filled."""
    from transformers import Qwen2VLConfig, Qwen2VLForConditionalGeneration, __version__

    vision = {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 1}
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    scaling = {"type": "mrope", "mrope_section": [2, 3, 3]}
    text = {"vocab_size": 64, "num_key_value_heads": 1, "rope_scaling": scaling, **sizes}
    options = text if __version__.startswith("4.") else {"text_config": text}
    return testbed.fill(Qwen2VLForConditionalGeneration(Qwen2VLConfig(vision_config=vision, **options)))


def named(model: Any, kind: str) -> dict[str, Any]:
    """Name the weights as in a file: in the layout of the Hub or of a release.

    Args:
        model: a model of any release.
        kind: ``old`` for the Hub, ``new`` for 5.23.0, whose towers have no inner module, ``both`` for 5.5.4.
    """
    named = {}
    for name, value in model.state_dict().items():
        bare = name.removeprefix("model.").replace("vision_tower.vision_model.", "vision_tower.")
        if bare.startswith("language_model.") and not bare.startswith(("language_model.model.", "language_model.lm_")):
            bare = bare.replace("language_model.", "language_model.model.", 1)
        if bare.startswith("lm_head."):
            bare = f"language_model.{bare}"
        if kind != "new":
            bare = bare.replace("vision_tower.", "vision_tower.vision_model.", 1)
        if kind == "both" and not bare.endswith("lm_head.weight"):
            bare = f"model.{bare}"
        named[bare] = value.clone()
    return named


def save(tensors: dict[str, Any], path: str) -> None:
    """Write weights into a file whose metadata names the format."""
    from safetensors.torch import save_file

    save_file(tensors, path, {"format": "pt"})


def in_files(model: Any) -> dict[str, Any]:
    """The saved weights of a model by name, and the number of names with each prefix."""
    import tempfile
    from collections import Counter
    from pathlib import Path

    from safetensors.torch import load_file

    with tempfile.TemporaryDirectory() as place:
        model.save_pretrained(place)
        saved = {name: weight for path in Path(place).glob("*.safetensors") for name, weight in load_file(path).items()}
    beginnings = Counter(".".join(name.split(".")[:2]) for name in saved)
    return {
        **{f"{begin}, how many": torch.tensor(number) for begin, number in beginnings.items()},
        **{
            name: weight.float()
            for name, weight in saved.items()
            if name.endswith((*ENDS, "qkv.weight", "norm.weight", "per_layer_model_projection.weight"))
        },
    }
