"""A small Gemma 3 whose file has the names of 5.5.4, and one that every release reads."""

import tempfile
from typing import Any

import torch

from hotfix.loading.gemma3_two_layouts_into_base import FIX
from hotfix.proofs._llava import named, save
from hotfix.proofs.testbed import Target, Testbed

SIZES: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
ENDS = (
    "encoder.layers.0.mlp.fc1.weight",
    "multi_modal_projector.mm_input_projection_weight",
    "layers.0.mlp.gate_proj.weight",
    "embed_tokens.weight",
)


@FIX.case(
    oracles={"*": "5.23.0"},
    with_fixes=("vlm-checkpoint-key-layout-new-to-old", "from-pretrained-without-accelerate"),
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Both are loaded; some weights of each part. The head is the embedding table, and in no file."""
    from transformers import Gemma3Config, Gemma3ForConditionalGeneration

    text = {"vocab_size": 64, "num_key_value_heads": 1, "head_dim": 16, "pad_token_id": 0, **SIZES}
    vision = {"image_size": 28, "patch_size": 14, **SIZES}
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    model = testbed.fill(Gemma3ForConditionalGeneration(config))
    results = {}
    for kind in ("old", "both"):
        with tempfile.TemporaryDirectory() as place:
            model.config.save_pretrained(place)
            kept = {name: weight for name, weight in named(model, kind).items() if not name.endswith("lm_head.weight")}
            save(kept, f"{place}/model.safetensors")
            loaded = type(model).from_pretrained(place).state_dict()
        for end in ENDS:
            name = next(key for key in loaded if key.endswith(end))
            results[f"{kind}, {end}"] = loaded[name].float()
    return results
