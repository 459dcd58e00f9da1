"""The case of `flash-rotary-dtype`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hotfix.models.flash_rotary_dtype import FIX, QWEN2_5_OMNI

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Forward and backward through the vision encoder, and for Qwen2.5-VL through the whole model, cast to bfloat16."""
    if target.module == QWEN2_5_OMNI:
        model, output = _omni_vision(testbed)
        loss = output.float().square().mean()
        results = {"output": output}
    else:
        model, batch = _vl_with_image(testbed)
        outputs = model(**batch)
        loss = outputs.loss
        results = {"logits": outputs.logits}
    loss.backward()
    testbed.assert_flash("flash_attn_varlen_func")
    return {**results, "loss": loss, **testbed.gradients(model)}


GRID = ((1, 4, 8), (1, 4, 4))  # two images: frames, rows and columns of patches


def _vl_with_image(testbed: Testbed) -> tuple[Any, dict[str, torch.Tensor]]:
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    image, video, start, text = 60, 62, 61, 50
    config = Qwen2_5_VLConfig(
        vocab_size=64,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_config=VISION,
    )
    # The whole model is cast, buffers too: what DeepSpeed and model.to(torch.bfloat16) do.
    model = testbed.model(Qwen2_5_VLForConditionalGeneration, config).to(torch.bfloat16).train()
    rows = []
    for number, (frames, height, width) in enumerate(GRID):
        seen = [start] + [image] * (frames * height * width // 4)  # one token for 2 x 2 patches
        words = testbed.randint(0, text, 20 - len(seen), seed=number).tolist()
        rows.append(words[:3] + seen + words[3:])
    input_ids = torch.tensor(rows, device=testbed.device)
    patches = sum(frames * height * width for frames, height, width in GRID)
    return model, {
        "input_ids": input_ids,
        "labels": input_ids,
        "attention_mask": torch.ones_like(input_ids),
        "pixel_values": testbed.randn(patches, 3 * 2 * 14 * 14, dtype=torch.bfloat16),
        "image_grid_thw": torch.tensor(GRID, device=testbed.device),
    }


def _omni_vision(testbed: Testbed) -> tuple[Any, torch.Tensor]:
    import torch
    from transformers.models.qwen2_5_omni.configuration_qwen2_5_omni import Qwen2_5OmniVisionEncoderConfig
    from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import Qwen2_5OmniVisionEncoder

    model = testbed.model(Qwen2_5OmniVisionEncoder, Qwen2_5OmniVisionEncoderConfig(**VISION))
    model = model.to(torch.bfloat16).train()
    patches = sum(frames * height * width for frames, height, width in GRID)
    pixels = testbed.randn(patches, 3 * 2 * 14 * 14, dtype=torch.bfloat16)
    return model, model(pixels, grid_thw=torch.tensor(GRID, device=testbed.device))


VISION = {
    "depth": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_heads": 4,
    "out_hidden_size": 64,
    "window_size": 56,
    "fullatt_block_indexes": [1],
}
