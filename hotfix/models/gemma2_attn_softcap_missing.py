"""The attention scores of Gemma 2 are not capped.

Symptom   Silent. Gemma 2 27B writes garbage, and the answers of 9B get worse.
Cause     ``attn_logit_softcapping``, 50 in all of Google's checkpoints, is not read.
Releases  4.42.0 to 4.42.2
Upstream  fixed in 4.42.3
Here      Scores are capped under eager attention, as in 4.42.3; sdpa cannot cap them in either release. A configuration
          without the number is left alone: its model was trained without the cap.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="Gemma 2 27B writes garbage: attn_logit_softcapping is ignored",
    kind="silent",
    fixed_in="4.42.3",
    when="(getattr(self.config, 'attn_logit_softcapping', None) or 0) > 0",
)

_SCORES = "attn_weights = torch.matmul(query_states, key_states.transpose(2, 3)) * self.scaling"

FIX.edits(
    ("transformers.models.gemma2.modeling_gemma2:Gemma2Attention.forward", ">=4.42.0,<=4.42.2"),
    old=_SCORES,
    new=f"""
        {_SCORES}
        softcap = self.config.attn_logit_softcapping
        attn_weights = torch.tanh(attn_weights / softcap) * softcap
        """,
    beside="config.query_pre_attn_scalar",  # in the constructor of Gemma 2's attention, and no other
    unless="self.config.attn_logit_softcapping",
    fingerprint_of=("Gemma2Attention.forward", "Gemma2Attention.__init__"),
)
