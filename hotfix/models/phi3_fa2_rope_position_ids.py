"""Phi-3 cannot run under FlashAttention-2.

Symptom   ``TypeError: Phi3RotaryEmbedding.forward() missing 1 required positional argument: 'position_ids'`` in the
          first attention layer; the classes for long contexts, which extend that one, raise it under their own names.
Cause     The call of the rotary embedding omits the position ids, which have no default.
Releases  4.44.0
Upstream  fixed in 4.44.1
Here      They are passed on. Bitwise equal to 4.44.1.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Phi-3 under FlashAttention-2 calls its rotary embedding without position ids",
    kind="crash",
    fixed_in="4.44.1",
    errors=("TypeError: Phi3…RotaryEmbedding.forward() missing 1 required positional argument: 'position_ids'",),
    on_error=("TypeError: …forward() missing 1 required positional argument: 'position_ids'",),
    exempt={
        f"transformers.models.{name}.modeling_{name}:{classname}FlashAttention2.forward": (
            "its rotary embedding takes only the length"
        )
        for name, classname in (
            ("mistral", "Mistral"),
            ("mixtral", "Mixtral"),
            ("qwen2", "Qwen2"),
            ("qwen2_moe", "Qwen2Moe"),
            ("starcoder2", "Starcoder2"),
        )
    },
)

FIX.edits(
    ("transformers.models.phi3.modeling_phi3:Phi3FlashAttention2.forward", "==4.44.0"),
    old="self.rotary_emb(value_states, seq_len=rotary_seq_len)",
    new="self.rotary_emb(value_states, seq_len=rotary_seq_len, position_ids=position_ids)",
)
