"""The module ``transformers.modeling_attn_mask_utils`` is gone.

Symptom   ``ModuleNotFoundError: No module named 'transformers.modeling_attn_mask_utils'`` from custom model code
          and packages: ``from transformers.modeling_attn_mask_utils import _prepare_4d_causal_attention_mask``.
Cause     ``transformers.masking_utils`` took its place, with other functions.
Releases  5.24.0 and later
Upstream  unsloth#6860 (not put back)
Here      A module of that name with its class and five functions. Their results are bit for bit those of 5.23.0. It
          imports torch and warns on first use, not on each call.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hotfix.fix import Fix
from hotfix.names import attention_masks
from hotfix.names.modules import given_back

MODULE = "transformers.modeling_attn_mask_utils"

FIX = Fix(
    title=f"ModuleNotFoundError: No module named '{MODULE}'",
    kind="removed-api",
    upstream=("unsloth#6860",),
    group="removed-names",
    errors=(f"ModuleNotFoundError: No module named '{MODULE}'",),
)

NAMES = (
    "AttentionMaskConverter",
    "_create_4d_causal_attention_mask",
    "_prepare_4d_attention_mask",
    "_prepare_4d_attention_mask_for_sdpa",
    "_prepare_4d_causal_attention_mask",
    "_prepare_4d_causal_attention_mask_for_sdpa",
)


@FIX.adds_modules(("transformers:modeling_attn_mask_utils", ">=5.24.0"))
def modeling_attn_mask_utils(transformers: Any) -> ModuleType:
    """The module."""

    def find(name: str) -> Any:
        made = getattr(attention_masks, name)
        made.__module__ = MODULE  # for pickle
        return made

    return given_back(MODULE, NAMES, "transformers.masking_utils", find)
