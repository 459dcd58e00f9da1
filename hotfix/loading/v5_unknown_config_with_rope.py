"""A tokenizer cannot be loaded where the configuration beside it is of an unknown kind and scales its rotary positions.

Symptom   ``AttributeError: 'PreTrainedConfig' object has no attribute 'max_position_embeddings'`` from
          ``AutoTokenizer`` or ``PreTrainedConfig.from_pretrained``: models with remote code whose ``rope_scaling`` is
          ``llama3``, ``yarn`` or ``longrope`` (Nemotron-NAS, DeciLM).
Cause     Parameters of rotary embeddings are put in order before the other values are set, and the default for one of
          them is read although it is not used.
Releases  5.5.0 and later
Upstream  omlx#2129; not repaired as of 5.24.0
Here      The default is read only if it is used; a configuration that has none stays without. A program that handles
          the error gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'PreTrainedConfig' object has no attribute 'max_position_embeddings', from AutoTokenizer",
    kind="loading",
    upstream=("omlx#2129",),
    errors=("AttributeError: 'PreTrainedConfig' object has no attribute 'max_position_embeddings'",),
    on_error=("AttributeError: '…' object has no attribute 'max_position_embeddings'",),
)

_STANDARDIZE = "RotaryEmbeddingConfigMixin.standardize_rope_params"

FIX.edits(
    (f"transformers.modeling_rope_utils:{_STANDARDIZE}", ">=5.5.0"),
    old='self.rope_parameters.setdefault("original_max_position_embeddings", self.max_position_embeddings)',
    new="""
        if hasattr(self, "max_position_embeddings"):
            self.rope_parameters.setdefault("original_max_position_embeddings", self.max_position_embeddings)
    """,
    beside='kwargs.get("rope_scaling") and kwargs.get("rope_theta")',  # asked of every configuration
    fingerprint_of=(_STANDARDIZE, "transformers.configuration_utils:PreTrainedConfig.__post_init__"),
)
