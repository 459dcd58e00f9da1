"""Gemma 3, Gemma 4 and GIT refuse to be trained on text without ``token_type_ids``.

Symptom   ``ValueError: `token_type_ids` is required as a model input when training`` in SFT, DPO or GRPO on text
Cause     The check does not test whether there is an image.
Releases  Gemma 3 and GIT 5.0.0 to 5.5.4, Gemma 4 5.5.0 to 5.5.4. PaliGemma needs them, for the prefix of its mask.
Upstream  trl#5032, trl#5807 report it; fixed in 5.6.0
Here      Without pixels the types may be missing, and the mask is causal, as in 5.6.0. With pixels the error stays.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 3, Gemma 4: training on text raises: token_type_ids is required as a model input when training",
    kind="crash",
    upstream=("trl#5032", "trl#5807"),
    fixed_in="5.6.0",
    errors=(
        "ValueError: `token_type_ids` is required as a model input when training",
        "ValueError: `mm_token_type_ids` is required as a model input when training",
    ),
    on_error=True,
    exempt={
        "transformers.models.paligemma.modeling_paligemma:create_causal_mask_mapping": (
            "without the types every token attends to every other: it would be trained on the tokens it is to predict"
        ),
    },
)

for _model, _name, _releases in (
    ("gemma3", "token_type_ids", ">=5.0.0,<=5.5.4"),
    ("git", "token_type_ids", ">=5.0.0,<=5.5.4"),
    ("gemma4", "mm_token_type_ids", ">=5.5.0,<=5.5.4"),
):
    FIX.edits(
        (f"transformers.models.{_model}.modeling_{_model}:create_causal_mask_mapping", _releases),
        old=f"is_training and {_name} is None",
        new=f"is_training and {_name} is None and pixel_values is not None",
    )
