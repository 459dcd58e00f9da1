"""Llama 3.1 and later cannot be loaded: the scaling of their rotary embedding is refused.

Symptom   ``ValueError: `rope_scaling` must be a dictionary with two fields, `type` and `factor`, got {'factor': 8.0, …,
          'rope_type': 'llama3'}`` from ``AutoConfig.from_pretrained``.
Cause     These releases are older than that scaling.
Releases  4.36.0 to 4.42.4
Upstream  transformers#32181 (4.43.0 computes it)
Here      The configuration is accepted if it has all numbers of the scaling. The frequencies are scaled as Meta has
          published: those that turn less than ``low_freq_factor`` times within the original context are divided by
          ``factor``, those that turn more than ``high_freq_factor`` times stay, and those in between are interpolated.
          A program that handles the ValueError gets it.
"""

from __future__ import annotations

import ast

from hotfix.fix import Fix

RELEASES = ">=4.36.0,<=4.42.4"
FIX = Fix(
    title="Llama 3.1 raises ValueError: `rope_scaling` must be a dictionary with two fields, `type` and `factor`",
    kind="loading",
    fixed_in="4.43.0",
    errors=("ValueError: `rope_scaling` must be a dictionary with …two fields, …'rope_type': 'llama3'…",),
    everyone="only for the type llama3, which these releases refuse: the new code tests it",
    prefilter="class Llama",
)

FIX.edits(
    ("transformers.models.llama.configuration_llama:LlamaConfig._rope_scaling_validation", RELEASES),
    fingerprint_of=("LlamaConfig",),
    on_error=("ValueError: `rope_scaling` must be a dictionary with …two fields, …llama3…",),
    old="if self.rope_scaling is None:\n    return",
    new="""
        if self.rope_scaling is None:
            return
        if isinstance(self.rope_scaling, dict) and "llama3" == self.rope_scaling.get(
            "type", self.rope_scaling.get("rope_type")
        ):
            for name in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"):
                if not isinstance(self.rope_scaling.get(name), (int, float)):
                    raise ValueError(f"`rope_scaling` of the type llama3 needs the number `{name}`, got "
                                     f"{self.rope_scaling}")
            return
        """,
)

FIX.edits(
    ("transformers.models.llama.modeling_llama:LlamaAttention._init_rope", RELEASES),
    fingerprint_of=("LlamaAttention",),
    on_error=("KeyError: 'type'", "ValueError: Unknown RoPE scaling type llama3"),
    old="""
        if self.config.rope_scaling is None:
            *__UNSCALED
        else:
            *__SCALED
        """,
    new="""
        if self.config.rope_scaling is None:
            *__UNSCALED
        elif "llama3" == self.config.rope_scaling.get("type", self.config.rope_scaling.get("rope_type")):
            *__UNSCALED
            scaling = self.config.rope_scaling
            frequencies = self.rotary_emb.inv_freq
            low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
            turns = scaling["original_max_position_embeddings"] / (2 * math.pi / frequencies)
            kept = ((turns - low) / (high - low)).clamp(0, 1)
            self.rotary_emb.inv_freq = (1 - kept) * frequencies / scaling["factor"] + kept * frequencies
            if hasattr(self.rotary_emb, "_set_cos_sin_cache"):  # computed with the old frequencies
                self.rotary_emb._set_cos_sin_cache(
                    seq_len=self.rotary_emb.max_seq_len_cached,
                    device=frequencies.device,
                    dtype=torch.get_default_dtype(),
                )
        else:
            *__SCALED
        """,
)


@FIX.recognises
def is_broken(node: ast.AST) -> bool:
    """Whether it is Llama's method before the scaling; models with the same code were never trained with it."""
    if not isinstance(node, ast.ClassDef):
        return False
    methods = {method.name for method in node.body if isinstance(method, ast.FunctionDef)}
    return bool(
        {("LlamaConfig", "_rope_scaling_validation"), ("LlamaAttention", "_init_rope")}.intersection(
            (node.name, method) for method in methods
        )
    )
