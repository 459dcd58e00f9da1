"""``LlamaFlashAttention2`` and ``LlamaSdpaAttention`` are gone.

Symptom   ``ImportError: cannot import name 'LlamaFlashAttention2' from 'transformers.models.llama.modeling_llama'``
          from the remote code of DeepSeek-VL2, DeepSeek-OCR and others, which put it into a table of their own and
          rarely use it.
Cause     One class serves every attention implementation, with another signature and another number of results.
Releases  4.48.0 and later
Upstream  transformers#35235 (not put back)
Here      Classes that inherit from ``LlamaAttention``, as before, for the import and the table. Building one is an
          error with an explanation: its callers pass position ids and a mask and expect three results, so they would
          silently be wrong. Setting a method of one is an error, too, since no layer of the release has the class.
          ``LLAMA_ATTENTION_CLASSES`` is model-attention-classes-removed.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names.attention_classes import attention_class

FIX = Fix(
    title="ImportError: cannot import name 'LlamaFlashAttention2' from 'transformers.models.llama.modeling_llama'",
    kind="removed-api",
    upstream=("transformers#35235",),
    group="removed-names",
)

LACKING = ">=4.48.0"
LEAF = "transformers.models.llama.modeling_llama"
INSTEAD = (
    "LlamaAttention is the class for every kind of attention; it takes position_embeddings and returns two values. "
    "A model that needs the old class needs transformers 4.47.1."
)


@FIX.adds_made((f"{LEAF}:LlamaFlashAttention2", LACKING), only_needed=True)
def flash_attention(llama: Any) -> type:
    """The class for FlashAttention-2."""
    return attention_class("LlamaFlashAttention2", LEAF, llama.LlamaAttention, INSTEAD)


@FIX.adds_made((f"{LEAF}:LlamaSdpaAttention", LACKING), only_needed=True)
def sdpa_attention(llama: Any) -> type:
    """The class for torch's attention."""
    return attention_class("LlamaSdpaAttention", LEAF, llama.LlamaAttention, INSTEAD)
