"""ModernBERT uses the rotary base of its global layers in the local ones.

Symptom   Silent. Embeddings, scores and logits of ModernBERT and of models based on it are off, with sdpa and eager.
          With flash attention ``UnboundLocalError``, before anything is loaded: global layers have no base at all.
Cause     Without flash attention, every layer's rotary embedding is made from the configuration, whose base is that of
          the global layers (160000); the base of the local ones (10000) is computed and not used.
Releases  4.54.0
Upstream  fixed in 4.54.1
Here      The rotary embedding gets the layer's own base, in a copy of the configuration where it differs. Equal to
          4.54.1. A ``rope_theta`` that the program has assigned to the configuration, and that differs from its
          ``global_rope_theta``, was meant for all layers, and stays. One that is given to the constructor has no effect
          in this release.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="ModernBERT: embeddings and logits are off, local layers ignore local_rope_theta",
    kind="silent",
    fixed_in="4.54.1",
    errors=(
        "UnboundLocalError: cannot access local variable 'rope_theta' where it is not associated with a value",
        "UnboundLocalError: local variable 'rope_theta' referenced before assignment",
    ),
    when="config._attn_implementation == 'flash_attention_2' or config.rope_theta == config.global_rope_theta",
)

FIX.edits(
    ("transformers.models.modernbert.modeling_modernbert:ModernBertAttention.__init__", "==4.54.0"),
    old=[
        "max_position_embeddings = config.max_position_embeddings",
        "self.rotary_emb = ModernBertRotaryEmbedding(config=config)",
    ],
    new=[
        """
        max_position_embeddings = config.max_position_embeddings
        rope_theta = config.global_rope_theta
        """,
        """
        own_config = config
        if rope_theta != config.rope_theta:
            from copy import copy
            own_config = copy(config)
            own_config.rope_theta = rope_theta
        self.rotary_emb = ModernBertRotaryEmbedding(config=own_config)
        """,
    ],
)
