"""Llama 3.1 cannot be built: its ``rope_scaling`` has a ``rope_type`` and no ``type``.

Symptom   ``KeyError: 'type'`` for the configuration of Llama 3.1
Cause     The old key is read for the default value, and so always.
Releases  4.43.0
Upstream  fixed in 4.43.1
Here      The old key may be missing. Equal to 4.43.1, where the check of the configuration still refuses a scaling
          with the old key alone.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Llama 3.1: KeyError: 'type' while the model is built",
    kind="crash",
    upstream=(),
    fixed_in="4.43.1",
    errors=("KeyError: 'type'",),
    on_error=True,
)

FIX.edits(
    ("transformers.models.llama.modeling_llama:LlamaRotaryEmbedding.__init__", "==4.43.0"),
    old='config.rope_scaling.get("rope_type", config.rope_scaling["type"])',
    new='config.rope_scaling.get("rope_type", config.rope_scaling.get("type"))',
)
