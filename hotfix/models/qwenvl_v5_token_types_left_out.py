"""Qwen-VL needs ``mm_token_type_ids``, which older collators and processors do not give.

Symptom   ``ValueError: Multimodal data was passed (via `image_grid_thw` or `video_grid_thw`) but `mm_token_type_ids` is
          missing`` in training; silent in that of Qwen2.5-VL and in ``generate``, where pictures and videos get the
          positions of text.
Cause     Up to 5.2.0 the model saw in ``input_ids`` where a picture is. Since 5.3.0 it reads that from the types.
Releases  5.3.0 and later; the error: 5.4.0 and later. Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5, also as mixtures of
          experts
Upstream  auto-round#2169 (the model still requires them)
Here      They are worked out from the tokens as the processor does it: 1 for a picture, 2 for a video. Where there is
          no error, this happens only if the tokens fit the sizes of the pictures. The positions are those that the
          release computes from the processor's types; for pictures they are those of 5.2.0.

Not here  Training the others with 5.3.0, which is silent, too. GLM-4V and its relatives, where the frames of a video
          have the tokens of pictures. PaddleOCR-VL, and models that have needed the types from the beginning.
"""

from __future__ import annotations

from hotfix.fix import Fix

_MODEL, _GENERATE = "Model.compute_3d_position_ids", "ForConditionalGeneration._prepare_position_ids_for_generation"


def _methods(classes: str, *parts: str) -> list[str]:
    entries = [entry.partition(":") for entry in classes.split()]
    return [
        f"transformers.models.{folder}.modeling_{folder}:{name}{part}" for folder, _, name in entries for part in parts
    ]


_FRAMES = "the frames of its videos have the tokens of pictures"
_NEWER = "it has needed the types from the beginning, or has other tokens"


FIX = Fix(
    title="Qwen-VL from 5.3 on: without mm_token_type_ids training raises, and generate gives pictures wrong positions",
    kind="silent",
    upstream=("auto-round#2169",),
    errors=(
        "ValueError: Multimodal data was passed (via `image_grid_thw` or `video_grid_thw`) but `mm_token_type_ids` is "
        "missing.…",
    ),
    order=1,  # after qwenvl-v5-stale-rope-deltas-forward, which edits the same function
    exempt={
        **dict.fromkeys(
            _methods("glm46v:Glm46V glm4v:Glm4v glm4v_moe:Glm4vMoe glm_ocr:GlmOcr", _MODEL, _GENERATE), _FRAMES
        ),
        **dict.fromkeys(
            _methods(
                "cohere_compass:CohereCompass cosmos3_edge:Cosmos3Edge cosmos3_omni:Cosmos3Omni "
                "ernie4_5_vl_moe:Ernie4_5_VLMoe exaone4_5:Exaone4_5_ hy_v4_vl:HYV4VL qwen4_exp:Qwen4Exp",
                _MODEL,
                _GENERATE,
            ),
            _NEWER,
        ),
        **dict.fromkeys(_methods("hunyuan_vl:HunYuanVL", _GENERATE), _NEWER),
        **dict.fromkeys(_methods("paddleocr_vl:PaddleOCRVL", _MODEL, _GENERATE), "it is used with its own processor"),
        **dict.fromkeys(_methods("minicpmv4_7:MiniCPMV4_7", _MODEL), _NEWER),
    },
)

_CLASSES = "qwen2_vl:Qwen2VL qwen3_vl:Qwen3VL qwen3_vl_moe:Qwen3VLMoe qwen3_5:Qwen3_5 qwen3_5_moe:Qwen3_5Moe"
_SILENT = "qwen2_5_vl:Qwen2_5_VL"  # it does not raise
_OURS = "import hotfix.models._placeholders as _placeholders"


def _types(ids: str) -> str:
    """The expression of the types of tokens."""
    return f"({ids} == self.config.image_token_id).int() + 2 * ({ids} == self.config.video_token_id).int()"


FIX.edits(
    *((method, ">=5.4.0") for method in _methods(_CLASSES, _MODEL)),
    old="""
        if has_multimodal and mm_token_type_ids is None and input_ids is not None:
            raise ValueError(__MESSAGE)
    """,
    new=f"""
        if has_multimodal and mm_token_type_ids is None and input_ids is not None:
            mm_token_type_ids = {_types("input_ids")}
    """,
    on_error=True,
    own=("self.get_rope_index",),
)

_CAN = "can_compute_mrope = input_ids is not None and mm_token_type_ids is not None and __SIZES"

FIX.edits(
    *((method, ">=5.3.0") for method in _methods(_SILENT, _MODEL)),
    old=_CAN,
    new=f"mm_token_type_ids = {_types('input_ids')}\n{_CAN}",
    when=f"""{_OURS}; (
        mm_token_type_ids is None
        and _placeholders.are_complete(self.config, input_ids, image_grid_thw, video_grid_thw)
    )""",
    own=("self.get_rope_index",),
)

_IDS = "is_input_ids = len(inputs_tensor.shape) == 2 and inputs_tensor.dtype in [torch.int, torch.long]"

FIX.edits(
    *((method, ">=5.3.0") for method in _methods(f"{_CLASSES} {_SILENT}", _GENERATE)),
    old=_IDS,
    new=f"""
        {_IDS}
        model_kwargs = dict(model_kwargs, mm_token_type_ids={_types("inputs_tensor")})
    """,
    beside='model_kwargs.get("mm_token_type_ids")',
    when=f"""{_OURS}; (
        model_kwargs.get("mm_token_type_ids") is None
        and _placeholders.are_complete(
            self.config,
            model_kwargs["input_ids"] if len(model_kwargs.get("input_ids", ())) else inputs_tensor,
            model_kwargs.get("image_grid_thw"),
            model_kwargs.get("video_grid_thw"),
        )
    )""",
    own=("self.model.get_rope_index",),
)
