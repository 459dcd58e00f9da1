"""A text-only forward gets positions shifted by the image of an earlier call.

Symptom   Silent: after ``generate`` or a training step with an image, as in GRPO, every later batch of text has shifted
          positions; in a batch of another size, ``RuntimeError`` for shapes that do not fit.
Cause     An image's stored offset, meant for the tokens that continue it, is added to every input without an image.
Releases  5.2.0 to 5.3.0: Qwen2-VL to Qwen3.5, GLM-4V and its relatives, PaddleOCR-VL, Ernie 4.5 VL
Upstream  transformers#43952, trl#5088 (fixed in 5.4.0)
Here      It is added where a cache holds the image, or where there are no token ids. Equal to 5.4.0. An offset of zero,
          as after a text, shifts nothing, and positions then skip the padding, as in these releases. While a forward is
          compiled, the values of the offset are not read, and a cache that counts its tokens on the device counts as
          not empty.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Qwen-VL, GLM-4V and others: after an image, later batches of text have shifted positions or raise",
    kind="silent",
    upstream=("transformers#43952", "trl#5088"),
    fixed_in="5.4.0",
    everyone="only for tokens without an image, an empty cache and an offset other than zero: the new code tests it",
    exempt={
        "transformers.models.glm_image.modeling_glm_image:GlmImageModel.compute_3d_position_ids": (
            "it makes images: an input without one is the next step of one"
        ),
    },
)

FIX.edits(
    *(
        (f"transformers.models.{package}.modeling_{package}:{name}Model.compute_3d_position_ids", ">=5.2.0,<=5.3.0")
        for package, name in (
            ("glm46v", "Glm46V"),
            ("glm4v", "Glm4v"),
            ("glm4v_moe", "Glm4vMoe"),
            ("glm_ocr", "GlmOcr"),
            ("paddleocr_vl", "PaddleOCRVL"),
            ("qwen2_5_vl", "Qwen2_5_VL"),
            ("qwen2_vl", "Qwen2VL"),
            ("qwen3_5", "Qwen3_5"),
            ("qwen3_5_moe", "Qwen3_5Moe"),
            ("qwen3_vl", "Qwen3VL"),
            ("qwen3_vl_moe", "Qwen3VLMoe"),
        )
    ),
    (
        "transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe:Ernie4_5_VL_MoeModel.compute_3d_position_ids",
        "==5.2.0",
    ),
    (
        "transformers.models.ernie4_5_vl_moe.modeling_ernie4_5_vl_moe:Ernie4_5_VLMoeModel.compute_3d_position_ids",
        "==5.3.0",
    ),
    old="self.rope_deltas is not None",
    new="""
        self.rope_deltas is not None and (
            input_ids is None
            or (isinstance(past_key_values_length, torch.Tensor) and torch.compiler.is_compiling())
            or past_key_values_length > 0
            or (
                not torch.compiler.is_compiling()
                and inputs_embeds.shape[0] % self.rope_deltas.shape[0] == 0
                and not self.rope_deltas.any()
            )
        )
    """,
    unless="past_key_values_length > 0 or input_ids is None",
    beside="past_key_values_length = 0 if past_key_values is None else past_key_values.get_seq_length()",
)
