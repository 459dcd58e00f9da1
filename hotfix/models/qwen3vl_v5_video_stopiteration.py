"""Qwen3-VL and Qwen3.5 raise for every video of more than one frame.

Symptom   ``StopIteration`` from ``get_rope_index``, in training and in ``generate``.
Cause     In the text, each frame follows its own timestamp; but a video has one entry of sizes, which its first frame
          uses up.
Releases  5.3.0, of Qwen3-VL and Qwen3.5, and of both as mixtures of experts
Upstream  transformers#44474 (fixed in 5.4.0)
Here      Each frame gets an entry of its own. Bitwise equal to 5.4.0. Sizes that fit the text, one entry for each group
          of tokens, are read as before.
"""

from __future__ import annotations

from hotfix.fix import Fix


def _method(model: str) -> str:
    package, _, owner = model.partition(":")
    return f"transformers.models.{package}.modeling_{package}:{owner}.get_rope_index"


FIX = Fix(
    title="Qwen3-VL, Qwen3.5: StopIteration in get_rope_index for a video of more than one frame",
    kind="crash",
    upstream=("transformers#44474",),
    fixed_in="5.4.0",
    errors=("StopIteration:",),
    on_error=True,
    exempt={
        _method(model): why
        for why, models in (
            (
                "its frames are next to each other, as one video",
                "ernie4_5_vl_moe:Ernie4_5_VLMoeModel exaone4_5:Exaone4_5_Model hy_v4_vl:HYV4VLModel "
                "paddleocr_vl:PaddleOCRVLModel qwen2_5_vl:Qwen2_5_VLModel qwen2_vl:Qwen2VLModel",
            ),
            (
                "it counts the frames itself",
                "glm46v:Glm46VModel glm4v:Glm4vModel glm4v_moe:Glm4vMoeModel glm_ocr:GlmOcrModel",
            ),
        )
        for model in models.split()
    },
)

_SIZES = """
grid_iters = {
    1: iter(image_grid_thw) if image_grid_thw is not None else None,
    2: iter(video_grid_thw) if video_grid_thw is not None else None,
}
"""

FIX.edits(
    *(
        (_method(model), "==5.3.0")
        for model in (
            "qwen3_5:Qwen3_5Model",
            "qwen3_5_moe:Qwen3_5MoeModel",
            "qwen3_vl:Qwen3VLModel",
            "qwen3_vl_moe:Qwen3VLMoeModel",
        )
    ),
    old=_SIZES,
    new=f"""
if video_grid_thw is not None:
    one_frame = torch.nn.functional.pad(video_grid_thw[:, 1:], (1, 0), value=1)
    video_grid_thw = one_frame.repeat_interleave(video_grid_thw[:, 0], dim=0)
{_SIZES}
""",
    unless="video_grid_thw[:, 0] = 1",
)
