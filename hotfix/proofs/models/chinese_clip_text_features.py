"""A tiny Chinese CLIP: features of two texts, and of a picture, which were right."""

import torch

from hotfix.models.chinese_clip_text_features import FIX
from hotfix.proofs.testbed import Target, Testbed

_SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}


@FIX.case(raises="TypeError: linear\\(\\): argument 'input'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The second text is padded. From 5.0.0 on, the features are part of an output."""
    from transformers import ChineseCLIPConfig, ChineseCLIPModel

    config = ChineseCLIPConfig(
        text_config={**_SIZES, "vocab_size": 48, "max_position_embeddings": 16},
        vision_config={**_SIZES, "image_size": 8, "patch_size": 4},
        projection_dim=16,
    )
    model = testbed.fill(ChineseCLIPModel(config)).to(testbed.device).eval()
    ids = testbed.randint(1, 48, 2, 7, seed=1)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    pixels = testbed.randn(1, 3, 8, 8, seed=2, dtype=torch.float32)
    texts = model.get_text_features(input_ids=ids, attention_mask=mask)
    pictures = model.get_image_features(pixel_values=pixels)
    return {
        "texts": getattr(texts, "pooler_output", texts),
        "pictures": getattr(pictures, "pooler_output", pictures),
    }
