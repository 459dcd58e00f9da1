"""Llama does not load where the scaling of its positions has a ``rope_type`` and no ``type``.

Symptom   ``KeyError: 'type'`` for the configuration of Llama 3.1
Cause     The old name is looked up as a default, and so looked up always.
Releases  4.43.0
Upstream  fixed in 4.43.1
Here      The old name is looked up where it is there. Equal to 4.43.1, where the check of the configuration still
          refuses a scaling that has the old name alone, for want of ``rope_type``.
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
