"""A small LFM2-VL that reads an image, by the setting of its LayerNorm: off, on, and not named."""

from typing import Any

import torch

from hotfix.models.lfm2vl_layernorm_though_off import FIX
from hotfix.proofs.testbed import Target, Testbed

_IMAGE = 60
_SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits, and gradients of the projector."""
    from transformers import Lfm2VlForConditionalGeneration

    results = {}
    for name, setting in (
        ("off", {"projector_use_layernorm": False}),
        ("on", {"projector_use_layernorm": True}),
        ("not named", {}),
    ):
        model = testbed.model(Lfm2VlForConditionalGeneration, _config(**setting), "sdpa", torch.float32)
        logits = model(
            input_ids=torch.tensor([[5, _IMAGE, _IMAGE, _IMAGE, _IMAGE, 6, 7]], device=testbed.device),
            pixel_values=testbed.randn(1, 16, 48, seed=1, dtype=torch.float32),
            pixel_attention_mask=torch.ones(1, 16, dtype=torch.long, device=testbed.device),
            spatial_shapes=torch.tensor([[4, 4]], device=testbed.device),
            use_cache=False,
        ).logits
        logits.square().mean().backward()
        results[f"{name}: logits"] = logits
        results[f"{name}: gradient"] = model.model.multi_modal_projector.linear_1.weight.grad
    return results


def projector(testbed: Any, **settings: Any) -> Any:
    """The projector alone; it takes images of shape (images, rows, columns, 32)."""
    from transformers.models.lfm2_vl.modeling_lfm2_vl import Lfm2VlMultiModalProjector

    return testbed.fill(Lfm2VlMultiModalProjector(_config(**settings)))


def _config(**settings: Any) -> Any:
    from transformers import Lfm2VlConfig

    text = {"model_type": "lfm2", "vocab_size": 64, "num_key_value_heads": 2, "layer_types": ["full_attention"]}
    untied = {"tie_word_embeddings": False}
    return Lfm2VlConfig(
        text_config={**_SIZES, **text, **untied},
        vision_config={**_SIZES, "model_type": "siglip2_vision_model", "patch_size": 4, "num_patches": 16},
        projector_hidden_size=24,
        image_token_id=_IMAGE,
        **untied,
        **settings,
    )
