"""OPT scales its queries, and the attention function scales them again.

Symptom   Silent. Attention is almost uniform, all logits are wrong, with every attention.
Cause     The queries are multiplied by ``head_dim ** -0.5``, and the attention function gets the same factor.
Releases  4.52.1 to 4.52.3
Upstream  transformers#38277, transformers#38290 (fixed in 4.52.4)
Here      The attention function does not scale. Equal to 4.52.4. Nothing changes where a layer's ``scaling`` was set to
          another number, where a custom hook or projection changes queries or keys, and under a custom attention.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="OPT: attention is scaled twice, all logits are wrong",
    kind="silent",
    upstream=("transformers#38277", "transformers#38290"),
    fixed_in="4.52.4",
)

_CALL = (
    "attention_interface("
    "self, query_states, key_states, value_states, attention_mask, dropout=__RATE, scaling={}, **kwargs)"
)

FIX.edits(
    ("transformers.models.opt.modeling_opt:OPTAttention.forward", ">=4.52.1,<=4.52.3"),
    old=_CALL.format("self.scaling"),
    new=_CALL.format("1.0"),
    beside="self.q_proj(hidden_states) * self.scaling",
    when=f"""
import hotfix.models._registered as _registered
import hotfix.models._projections as _projections
(
    self.scaling == self.head_dim**-0.5
    and _projections.are_known({FIX.id!r}, self.q_proj, self.k_proj)
    and _registered.is_own({FIX.id!r}, self.config, eager_attention_forward)
)
""",
)
