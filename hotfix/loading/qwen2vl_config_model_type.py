"""The configuration of Qwen2-VL and Qwen2.5-VL has the model_type of its text model.

Symptom   Silent. After ``from_pretrained``, ``config.model_type`` is ``qwen2_5_vl_text``, and ``_name_or_path`` is
          empty, as in the text model. Frameworks that use either (PEFT, TRL, swift, vLLM) take the wrong branch.
Cause     Attributes that the text configuration also has are read and written there, including these two.
Releases  4.57.1 to 4.57.5
Upstream  2U1/Qwen-VL-Series-Finetune#240 (fixed in 4.57.6)
Here      Both come from the configuration itself, as in 4.57.6, which excludes them in the same list.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="config.model_type is qwen2_5_vl_text after loading Qwen2.5-VL",
    kind="api",
    upstream=("2U1/Qwen-VL-Series-Finetune#240",),
    fixed_in="4.57.6",
    errors=("ValueError: …qwen2_5_vl_text…",),
    everyone="both names belong to the configuration itself",
    prefilter="_attn_implementation_internal",
)

_CONFIGS = tuple(
    f"transformers.models.{model}.configuration_{model}:{name}Config"
    for model, name in (("qwen2_vl", "Qwen2VL"), ("qwen2_5_vl", "Qwen2_5_VL"))
)

FIX.edits(
    *((f"{config}.__getattribute__", ">=4.57.1,<=4.57.5") for config in _CONFIGS),
    *((f"{config}.__setattr__", ">=4.57.1,<=4.57.4") for config in _CONFIGS),
    old='["dtype", "_attn_implementation_internal"]',
    new='["_name_or_path", "model_type", "dtype", "_attn_implementation_internal"]',
)
