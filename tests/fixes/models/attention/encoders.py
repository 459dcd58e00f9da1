"""Cases for qwenvl-vision-fa2-crash and glm4v-bool-mask.

``eager`` is what eager attention in float32 gives, one sample at a time.
"""

from __future__ import annotations

from hotfix.proofs import zoo
from hotfix.proofs.models import glm4v_bool_mask, qwenvl_vision_fa2_crash
from tests.fixes.models.attention import traces


def everything(testbed, target):
    return traces.traced(testbed, target, samples=samples, case=qwenvl_vision_fa2_crash.case)


def under_eager(testbed, target):
    return traces.traced(testbed, target, images=two_images, case=glm4v_bool_mask.case)


def two_images(testbed, target):
    """Two images at once under eager attention in float32, and each of them alone."""
    import torch

    model, inputs = zoo.encoder_and_inputs(testbed, target, attn="eager", dtype=torch.float32)
    return {"together": given(model, inputs), "eager": torch.cat([given(model, row) for row in each(inputs)])}


def samples(testbed, target):
    """Two images or sounds at once, under FlashAttention and under SDPA; and each of them alone."""
    import torch

    eager, inputs = zoo.encoder_and_inputs(testbed, target, attn="eager", dtype=torch.float32)
    outputs = {"eager": torch.cat([given(eager, row) for row in each(inputs)])}
    for attn in "sdpa", "flash_attention_2":
        model, inputs = zoo.encoder_and_inputs(testbed, target, attn=attn)
        outputs[attn.partition("_")[0]] = given(model, inputs)
    testbed.assert_flash("flash_attn_varlen_func")
    return outputs


def given(model, inputs):
    import torch

    with torch.no_grad():
        output = model(**inputs)
    return getattr(output, "last_hidden_state", output)


def each(inputs):
    """The two samples, each for itself."""
    if "grid_thw" in inputs:
        grid = inputs["grid_thw"]
        pieces = inputs["hidden_states"].split(grid.prod(dim=1).tolist())
        return [{"hidden_states": piece, "grid_thw": row[None]} for piece, row in zip(pieces, grid)]
    frames, kept = inputs["feature_lens"], inputs["aftercnn_lens"]
    pieces = inputs["input_features"].split(frames.tolist(), dim=1)
    return [
        {"input_features": piece, "feature_lens": length[None], "aftercnn_lens": rest[None]}
        for piece, length, rest in zip(pieces, frames, kept)
    ]
