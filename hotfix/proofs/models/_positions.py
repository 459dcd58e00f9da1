"""Models that only compute positions: without weights, on the meta device."""

from typing import Any

import torch

from hotfix.proofs import zoo
from hotfix.proofs.testbed import Testbed

_TEXT = {
    "vocab_size": 64,
    "hidden_size": 512,
    "intermediate_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
}
_VISION_START = 60  # of `zoo.qwen_sentence`
_VISION = {"depth": 1, "num_heads": 2, "hidden_size": 32, "embed_dim": 32, "intermediate_size": 48}


def without_weights(testbed: Testbed, cls: Any) -> Any:
    """A model of a class that has a text and a vision part.

    Args:
        testbed: where it runs.
        cls: that of a model with ``get_rope_index``; patches of images are merged two by two.
    """
    config = cls.config_class(text_config=dict(_TEXT), vision_config=dict(_VISION))
    config.image_token_id, config.video_token_id = zoo.QWEN_IMAGE, zoo.QWEN_VIDEO
    config.vision_start_token_id = _VISION_START
    with torch.device("meta"):
        return cls(config)
