"""``ChineseCLIPModel.get_text_features`` always fails.

Symptom   ``TypeError: linear(): argument 'input' (position 1) must be Tensor, not NoneType``.
Cause     The features come from the pooler of the text model, which this model builds without one.
Releases  4.57.1 to 4.57.6
Upstream  transformers#42351 (fixed in 5.0.0)
Here      After the error, the projection takes the state of the first token, as in 4.56.2 and 5.0.0. A text model that
          the program has given a pooler, and a projection of the program's, run without the error and stay as they are.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="ChineseCLIPModel.get_text_features: linear(): argument 'input' must be Tensor, not NoneType",
    kind="crash",
    upstream=("transformers#42351",),
    fixed_in="5.0.0",
    errors=("TypeError: linear(): argument 'input' (position 1) must be Tensor, not NoneType",),
    on_error=True,
)

FIX.edits(
    (
        "transformers.models.chinese_clip.modeling_chinese_clip:ChineseCLIPModel.get_text_features",
        ">=4.57.1,<=4.57.6",
    ),
    old="pooled_output = text_outputs.pooler_output",
    new="pooled_output = text_outputs.last_hidden_state[:, 0, :]",
    beside="""
    self.text_model(
        input_ids=input_ids,
        attention_mask=attention_mask,
        token_type_ids=token_type_ids,
        position_ids=position_ids,
    )
    """,
)
