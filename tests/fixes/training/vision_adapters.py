"""Cases of `test_vision_adapters.py` on the testbed: a Qwen2-VL of which one matrix in each block is trained."""

from __future__ import annotations

from typing import Any

from hotfix.proofs import zoo
from hotfix.proofs.training.vision_lora_checkpointing_no_grad import trained


def of_qwen2_vl(testbed: Any, target: Any) -> dict[str, Any]:
    """Logits and gradients with and without checkpointing, for a text with a picture of 4 x 4 patches."""
    import torch
    from transformers import Qwen2VLForConditionalGeneration

    model = zoo.qwen_vl(testbed, Qwen2VLForConditionalGeneration, dtype=torch.float32)
    ids = torch.tensor([zoo.qwen_sentence(testbed, [3, (zoo.QWEN_IMAGE, 4), 5])]).to(testbed.device)
    picture = {"pixel_values": testbed.randn(16, 3 * 2 * 14 * 14, seed=2), "image_grid_thw": torch.tensor([[1, 4, 4]])}
    return trained(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids), **picture})
