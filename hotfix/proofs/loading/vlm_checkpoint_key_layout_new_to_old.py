"""A small LLaVA whose files have the names of 5.23.0, and one whose files have those that every release reads."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

from hotfix.loading.vlm_checkpoint_key_layout_new_to_old import FIX

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed

_ENDS = (
    "embeddings.class_embedding",
    "encoder.layers.0.mlp.fc1.weight",
    "multi_modal_projector.linear_1.weight",
    "layers.0.self_attn.q_proj.weight",
    "lm_head.weight",
)


@FIX.case(oracles={"*": "5.23.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Both are loaded; some weights of each part."""
    results = {}
    model = _llava(testbed)
    for kind in ("old", "new"):
        with tempfile.TemporaryDirectory() as place:
            model.config.save_pretrained(place)
            _save(_named(model, kind), f"{place}/model.safetensors")
            loaded = type(model).from_pretrained(place).state_dict()
        for end in _ENDS:
            name = next(one for one in loaded if one.endswith(end))
            results[f"{kind}, {end}"] = loaded[name].float()
    return results


def _llava(testbed: Testbed) -> Any:
    from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = CLIPVisionConfig(image_size=28, patch_size=14, **sizes)
    text = LlamaConfig(vocab_size=64, **sizes)
    config = LlavaConfig(vision_config=vision, text_config=text)
    return testbed.fill(LlavaForConditionalGeneration(config))


def _named(model: Any, kind: str) -> dict[str, Any]:
    """The weights as files have them: in the layout of the hub, the tower of 5.23.0 without its inner name."""
    named = {}
    for name, value in model.state_dict().items():
        bare = name.removeprefix("model.").replace("vision_tower.vision_model.", "vision_tower.")
        if bare.startswith("language_model.") and not bare.startswith(("language_model.model.", "language_model.lm_")):
            bare = bare.replace("language_model.", "language_model.model.", 1)
        if bare.startswith("lm_head."):
            bare = f"language_model.{bare}"
        if kind == "old":
            bare = bare.replace("vision_tower.", "vision_tower.vision_model.", 1)
        named[bare] = value.clone()
    return named


def _save(tensors: dict[str, Any], path: str) -> None:
    from safetensors.torch import save_file

    save_file(tensors, path, {"format": "pt"})
