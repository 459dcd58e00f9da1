"""``LlamaFlashAttention2`` and ``LlamaSdpaAttention`` are gone.

Symptom   ``ImportError: cannot import name 'LlamaFlashAttention2' from 'transformers.models.llama.modeling_llama'``
          from the remote code of DeepSeek-VL2, DeepSeek-OCR and others, which put it into a table of their own and
          mostly never use it.
Cause     There is one class for all kinds of attention, which is called in another way and returns another number of
          values.
Releases  4.48.0 and later
Upstream  transformers#35235 (not put back)
Here      Classes that inherit from ``LlamaAttention``, as they did, so that the import and the table work; building
          one raises a sentence: what called them hands over position ids and a mask of its own, expects three values,
          and would be wrong without a word where these mean something else now. So does setting a method of one, since
          no layer of the release has it. ``LLAMA_ATTENTION_CLASSES`` is model-attention-classes-removed.
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
    """The one for FlashAttention-2."""
    return attention_class("LlamaFlashAttention2", LEAF, llama.LlamaAttention, INSTEAD)


@FIX.adds_made((f"{LEAF}:LlamaSdpaAttention", LACKING), only_needed=True)
def sdpa_attention(llama: Any) -> type:
    """The one for torch's attention."""
    return attention_class("LlamaSdpaAttention", LEAF, llama.LlamaAttention, INSTEAD)
