"""GPT-2 sees the future under FlashAttention-2 wherever a batch has padding.

Symptom   Silent. With padding anywhere in a batch, every token attends to those that come after it: losses are too low,
          logits are wrong from the first token on, and `generate` continues left-padded prompts from wrong numbers.
          Batches without padding are right.
Cause     The attention asks for a causal one only where there is no mask, since other attentions have causality in the
          mask. That of FlashAttention-2 tells padding only. Up to 4.55 the interface did not listen to what it was
          asked for.
Releases  4.56.0 to 4.57.6
Upstream  transformers#41966 (fixed in 5.0.0)
Here      Under the library's own flash attention, self-attention asks for a causal one with a mask, too. Bitwise equal
          to 5.0.0. An attention of your own is left alone, whatever its name, and so is a layer that you have told that
          it is not causal (``is_causal = False``), as LLM2Vec does.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="GPT-2 attends to the future under FlashAttention-2 in batches with padding",
    kind="silent",
    upstream=("transformers#41966",),
    fixed_in="5.0.0",
    when=(
        "import hotfix.models._attention as _attention; attention_mask is not None and self.is_causal and "
        "_attention.is_flash_of_library("
        "'gpt2-fa2-padding-loses-causality', self.config._attn_implementation, ALL_ATTENTION_FUNCTIONS)"
    ),
    prefilter="is_causal = attention_mask is None",
)

ATTENTION = "transformers.models.gpt2.modeling_gpt2:GPT2Attention.forward"
INTERFACE = "transformers.integrations.flash_attention:flash_attention_forward"

FIX.edits(
    (ATTENTION, ">=4.56.0,<=4.57.6"),
    old="is_causal = attention_mask is None and __SEVERAL_QUERIES and __SELF_ATTENTION",
    new="is_causal = __SEVERAL_QUERIES and __SELF_ATTENTION",
    beside="is_causal = kwargs.pop('is_causal', None)",  # the interface does as it is told
    fingerprint_of=(ATTENTION, INTERFACE),
)
