"""A tiny Qwen2-VL or Qwen2.5-VL, whose configuration has the sizes of the text model in its text_config alone."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.qwen2_vl_text_config_alone import FIX
from hotfix.proofs.testbed import Target, Testbed

_TEXT = {
    "hidden_size": 32,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 64,
    "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]},
}
_TOKENS = {"image_token_id": 60, "video_token_id": 61, "vision_start_token_id": 62, "vision_end_token_id": 63}
_VISION = {
    "Qwen2VL": {"depth": 1, "embed_dim": 16, "num_heads": 2, "hidden_size": 32},
    "Qwen2_5_VL": {"depth": 1, "hidden_size": 16, "num_heads": 2, "out_hidden_size": 32, "intermediate_size": 16},
}


@FIX.case(raises="AttributeError: .* object has no attribute '(hidden_size|vocab_size)'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A text with labels, and the gradients of its loss."""
    library: Any = import_module("transformers")
    kind = target.qualname.partition("ForConditionalGeneration")[0]
    settings = getattr(library, f"{kind}Config")
    config = settings(text_config=dict(_TEXT), vision_config=_VISION[kind], **_TOKENS)
    config._attn_implementation = "eager"
    model = testbed.fill(getattr(library, f"{kind}ForConditionalGeneration")(config)).to(testbed.device).eval()
    ids = testbed.randint(1, 60, 1, 6, seed=1)
    output = model(input_ids=ids, attention_mask=torch.ones_like(ids), labels=ids)
    output.loss.backward()
    return {"logits": output.logits, "loss": output.loss, **testbed.gradients(model)}
