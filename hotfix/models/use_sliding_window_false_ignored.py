"""Qwen2, Qwen3, Qwen2-VL and Qwen2.5-VL have a window although their configuration turns it off.

Symptom   Silent. With ``use_sliding_window=False``, which is the default, a text longer than ``sliding_window`` (32768
          tokens of QwQ, Qwen2-VL and Qwen2.5-VL) does not see its beginning under sdpa and eager attention.
Cause     The mask reads ``config.sliding_window``, and not whether the window is used. Flash attention reads both.
Releases  4.49.0 to 4.51.3 for Qwen2, Qwen2-VL and Qwen2.5-VL, 4.51.0 to 4.51.3 for Qwen3
Upstream  transformers#38002 (fixed in 4.52.1)
Here      The mask has a window only if the configuration uses it. Equal to 4.52.1. Qwen2-VL of 4.46.1 to 4.48.3 has the
          bug, too, and a cache that no later release has: it is left alone.
"""

from __future__ import annotations

from hotfix.fix import Fix

MASK = "_prepare_4d_causal_attention_mask_with_cache_position"
_OTHERS = [
    f"transformers.models.{model}.modeling_{model}:{name}.{MASK}"
    for model, *names in (
        ("mimi", "MimiTransformerModel"),
        ("mistral", "MistralModel"),
        ("mixtral", "MixtralModel"),
        ("moshi", "MoshiModel", "MoshiDepthDecoder"),
        ("phi3", "Phi3Model"),
        ("phi4_multimodal", "Phi4MultimodalModel"),
        ("phimoe", "PhimoeModel"),
        ("qwen2_moe", "Qwen2MoeModel"),
        ("qwen3_moe", "Qwen3MoeModel"),
        ("starcoder2", "Starcoder2Model"),
    )
    for name in names
]

FIX = Fix(
    title="Qwen2, Qwen3 and Qwen-VL: use_sliding_window=False is ignored, long texts lose their beginning",
    kind="silent",
    upstream=("transformers#38002",),
    fixed_in="4.52.1",
    exempt=dict.fromkeys(_OTHERS, "its configuration has no such switch, or no window where it is off"),
    everyone="a configuration that uses its window, or has no such switch, has the same mask: the new code tests it",
)

FIX.edits(
    (f"transformers.models.qwen2.modeling_qwen2:Qwen2Model.{MASK}", ">=4.49.0,<=4.51.3"),
    (f"transformers.models.qwen3.modeling_qwen3:Qwen3Model.{MASK}", ">=4.51.0,<=4.51.3"),
    (f"transformers.models.qwen2_vl.modeling_qwen2_vl:Qwen2VLModel.{MASK}", ">=4.49.0,<=4.51.3"),
    (f"transformers.models.qwen2_5_vl.modeling_qwen2_5_vl:Qwen2_5_VLModel.{MASK}", ">=4.49.0,<=4.51.3"),
    old="config.sliding_window is not None",
    new='config.sliding_window is not None and getattr(config, "use_sliding_window", True)',
    beside="attention_mask[:, None, None, :].to(causal_mask.device)",
)
