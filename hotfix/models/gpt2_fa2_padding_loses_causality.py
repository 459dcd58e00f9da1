"""GPT-2 attends to future tokens under FlashAttention-2 in batches with padding.

Symptom   Silent. With padding anywhere in a batch, every token attends to later ones: losses are too low, logits are
          wrong from the first token on, and `generate` continues left-padded prompts from wrong numbers. Batches
          without padding are right.
Cause     The layer requests causal attention only where there is no mask, since the masks of other attentions are
          causal. The mask of FlashAttention-2 covers padding only. Up to 4.55 the interface ignored the request.
Releases  4.56.0 to 4.57.6
Upstream  transformers#41966 (fixed in 5.0.0)
Here      Under the library's own flash attention, self-attention requests causal attention with a mask, too. Bitwise
          equal to 5.0.0. A custom attention is left alone, whatever its name, and so is a layer with
          ``is_causal = False``, which LLM2Vec sets.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="GPT-2 attends to future tokens under FlashAttention-2 in batches with padding",
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
    beside="is_causal = kwargs.pop('is_causal', None)",  # the interface obeys the request
    fingerprint_of=(ATTENTION, INTERFACE),
)
