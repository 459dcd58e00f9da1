"""Qwen's multimodal decoders use the temporal positions of the rotary embedding as positions in the text.

Symptom   Silent. In a forward without an attention mask and without a cache, as in training, image tokens attend only
          to themselves, and the text after an image does not attend to anything before it: under eager and sdpa
          attention, whether the three rows of positions are passed or the model makes them itself. Under
          FlashAttention-2 the same happens with one sample whose first token is an image token, cache or not.
Cause     Positions that do not increase by one mean packed sequences, which must not attend to each other. The decoder
          takes them from a row of text positions that may precede the three rows of the rotary embedding. Without that
          row it takes the first of the three, the temporal one, in which all tokens of an image are equal.
Releases  Qwen2-VL, Qwen2.5-VL and Qwen2.5-Omni: 4.54.0 to 4.56.2. Qwen3-VL and Qwen3-Omni: 4.57.1 to 5.2.0.
          Qwen3.5: 5.2.0.
Upstream  transformers#40490 (fixed in 4.57.0), and for Qwen3-VL, Qwen3-Omni and Qwen3.5 in 5.3.0
Here      Without a row of text positions, they are the temporal ones as long as these increase by one in each sequence,
          and else counted from each token whose three positions are 0. So packed sequences stay apart, with three rows
          of positions or with one, (batch, tokens), with images and without; 4.57.1 and 5.3.0 separate sequences only
          with four rows. Bitwise equal to them for all other inputs. A custom attention or mask gets the temporal
          positions, as before.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Qwen2-VL to Qwen3.5: image tokens are masked like packed sequences in training",
    kind="silent",
    upstream=("transformers#40154", "transformers#40490"),
    fixed_in="4.57.0, 5.3.0",
    everyone="only where temporal positions do not show where sequences begin: the new code tests it",
)


def _model(name: str, owner: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{owner}.forward", releases


QWEN2, QWEN3 = ">=4.54.0,<=4.56.2", ">=4.57.1,<=5.2.0"
TABLE = (
    _model("qwen2_vl", "Qwen2VLTextModel", QWEN2),
    _model("qwen2_5_vl", "Qwen2_5_VLTextModel", QWEN2),
    _model("qwen2_5_omni", "Qwen2_5OmniThinkerTextModel", QWEN2),
    _model("qwen2_5_omni", "Qwen2_5OmniTalkerModel", QWEN2),
    _model("qwen3_vl", "Qwen3VLTextModel", QWEN3),
    _model("qwen3_vl_moe", "Qwen3VLMoeTextModel", QWEN3),
    _model("qwen3_omni_moe", "Qwen3OmniMoeThinkerTextModel", QWEN3),
    _model("qwen3_omni_moe", "Qwen3OmniMoeTalkerModel", QWEN3),
    _model("qwen3_5", "Qwen3_5TextModel", "==5.2.0"),
    _model("qwen3_5_moe", "Qwen3_5MoeTextModel", "==5.2.0"),
)

FIX.edits(
    *TABLE,
    old="""
        if position_ids.ndim == 3 and position_ids.shape[0] == 4:
            *__FIRST_OF_FOUR
        else:
            text_position_ids = position_ids[0]
        """,
    new=f"""
        if position_ids.ndim == 3 and position_ids.shape[0] == 4:
            *__FIRST_OF_FOUR
        else:
            import hotfix.models._text_positions as _text_positions
            text_position_ids = _text_positions.of(
                {FIX.id!r}, position_ids, self.config, __name__, self.layers
            )
        """,
    beside="position_ids = position_ids[None, ...].expand(3, position_ids.shape[0], -1)",
)
