"""A cache that was initialized early refuses the states of linear-attention layers.

Symptom   ``RuntimeError: The size of tensor a (8) must match the size of tensor b (4) at non-singleton dimension 3``
          from the first ``cache.update_conv_state(...)`` or ``cache.update_recurrent_state(...)`` after
          ``cache.early_initialization(...)``, for a configuration with ``linear_attention``, ``conv`` or ``mamba``
          among its ``layer_types``.
Cause     `early_initialization` gives the empty tensors for keys and values to all layers. A linear-attention layer
          takes their shape for that of its states.
Releases  5.5.0 to 5.12.1
Upstream  transformers#46439 (first fixed in 5.13.0)
Here      After the error, a layer that still has the empty tensor is initialized by the states that it is given, as
          in 5.13.0. A layer whose `lazy_initialization` is the program's own is left alone, and a program that handles
          the error gets it.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="RuntimeError: The size of tensor a must match, for linear-attention layers after early_initialization",
    kind="crash",
    upstream=("transformers#46439",),
    fixed_in="5.13.0",
    # No `errors`: many bugs have these messages.
    on_error=(
        "RuntimeError: The size of tensor a …",
        "RuntimeError: The expanded size of the tensor …",
        "RuntimeError: output with shape …doesn't match the broadcast shape…",
    ),
    own=("self.lazy_initialization",),
)

_CACHES = "transformers.cache_utils"

for _states in ("conv_states", "recurrent_states"):
    FIX.edits(
        (f"{_CACHES}:LinearAttentionLayer.update_{_states[:-1]}", ">=5.5.0,<=5.12.1"),
        old=f"""
if not self.is_{_states}_initialized:
    self.lazy_initialization({_states}={_states})
""",
        new=f"self.lazy_initialization({_states}={_states})",
        unless="layer.supports_early_init",
        fingerprint_of=(
            f"{_CACHES}:LinearAttentionLayer.update_{_states[:-1]}",
            f"{_CACHES}:Cache.early_initialization",
        ),
        # An empty tensor for keys or values has no tokens.
        when=f"self.is_{_states}_initialized and self.{_states}.dim() == 4 and self.{_states}.shape[2] == 0",
    )
