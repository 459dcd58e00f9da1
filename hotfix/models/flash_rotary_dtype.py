"""Qwen2.5-VL and Qwen2.5-Omni cannot run their vision encoder in bfloat16 under FlashAttention-2.

Symptom   ``AssertionError: Input and cos/sin must have the same dtype, got torch.float32 and torch.bfloat16``
Cause     Queries and keys are cast up to float32 before the rotary embedding, cos and sin are not. They are bfloat16 as
          soon as the whole model is cast, because ``inv_freq`` is a buffer. flash-attn asserted equal dtypes up to
          2.7.4.post1; from 2.8.0 on its kernel takes the mixture and computes in float32 either way.
Releases  Qwen2.5-VL: 4.49.0. Qwen2.5-Omni: 4.52.1 to 4.52.4.
Upstream  transformers#36065 (fixed in 4.50.0), transformers#38453 (the function is gone in 4.53.0),
          flash-attention commit 1870a0dc (assertion dropped in 2.8.0)
Here      cos and sin are cast up alongside, the rotation happens in float32, the result has the dtype of the input.
          Bitwise equal to 4.50.0 (Qwen2.5-VL), and to 4.53.1 and flash-attn 2.8 (Qwen2.5-Omni).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from hotfix.fix import Fix

if TYPE_CHECKING:
    import torch
    from flash_attn.layers.rotary import apply_rotary_emb  # what the repaired modules have under this name

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="flash-rotary-dtype",
    title="Vision rotary embedding under FlashAttention-2 refuses bfloat16 cos and sin",
    kind="crash",
    needs={"flash-attn": "<2.8"},
    upstream=("transformers#36065", "transformers#38453", "flash-attention@1870a0dc"),
    fixed_in="4.50.0, 4.53.0",
    prefilter="apply_rotary_emb(",
)

QWEN2_5_VL = "transformers.models.qwen2_5_vl.modeling_qwen2_5_vl"
QWEN2_5_OMNI = "transformers.models.qwen2_5_omni.modeling_qwen2_5_omni"


@FIX.replaces((f"{QWEN2_5_VL}:apply_rotary_pos_emb_flashatt", "==4.49.0"))
def apply_rotary_pos_emb_flashatt(
    q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotate queries and keys of shape (1, patches, heads, head width) by tables of shape (patches, head width)."""
    half = cos.shape[-1] // 2  # the kernel wants each angle once
    cos32, sin32 = cos[..., :half].float().contiguous(), sin[..., :half].float().contiguous()
    rotated_q = apply_rotary_emb(q.float(), cos32, sin32)
    rotated_k = apply_rotary_emb(k.float(), cos32, sin32)
    return rotated_q.to(q.dtype), rotated_k.to(k.dtype)


@FIX.replaces(
    (
        f"{QWEN2_5_OMNI}:Qwen2_5OmniVisionFlashAttention2._apply_rotary_pos_emb_flashatt",
        ">=4.52.1,<=4.52.4",
    )
)
def _apply_rotary_pos_emb_flashatt(self: Any, tensor: torch.Tensor, freqs: torch.Tensor) -> torch.Tensor:
    """Rotate a tensor of shape (1, patches, heads, head width) by angles of shape (patches, head width / 2)."""
    rotated = apply_rotary_emb(tensor.float(), freqs.cos().float(), freqs.sin().float())
    return rotated.to(tensor.dtype)


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """What the rotary kernel rotates is cast up before, and nothing of cos and sin is."""
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    rotated = [call.args[0] for call in calls if getattr(call.func, "id", "") == "apply_rotary_emb" and call.args]
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
    cast_up = {getattr(node.targets[0], "id", "") for node in assigned if _casts_up(node.value)}
    tables = [node.func.value for node in calls if _casts_up(node) and isinstance(node.func, ast.Attribute)]
    tables_are = any(name in ast.unparse(table) for table in tables for name in ("cos", "sin"))
    return any(_casts_up(one) or getattr(one, "id", None) in cast_up for one in rotated) and not tables_are


def _casts_up(expression: ast.expr) -> bool:
    return isinstance(expression, ast.Call) and getattr(expression.func, "attr", "") == "float"


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
    gradients = {f"gradient of {name}": one.grad for name, one in model.named_parameters() if one.grad is not None}
    return {**results, "loss": loss, **gradients}


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
