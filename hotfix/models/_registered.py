"""Tests whether the library's own function computes a model's attention or its mask."""

from __future__ import annotations

import sys
from typing import Any

from hotfix.patching import scope

FLASH = "transformers.integrations.flash_attention"
"""The module of the function that all versions of FlashAttention share."""


def is_own(fix: str, config: Any, eager: Any) -> bool:
    """Whether the attention that a configuration names is the library's own: eager, or registered by the library.

    Args:
        fix: id of the fix that asks.
        config: has ``_attn_implementation``; a function that the program has registered under that name counts.
        eager: ``eager_attention_forward`` of the model's module; a function that the program has put there counts.
    """
    function = registered(config)
    if config._attn_implementation == "eager":
        return scope.is_own(fix, eager) and scope.is_own(fix, function)  # a program may register its own "eager"
    return function is not None and scope.is_own(fix, function)


def has_own_mask(fix: str, config: Any) -> bool:
    """Whether the function that makes masks for a configuration's attention is the library's own.

    Args:
        fix: id of the fix that asks.
        config: has ``_attn_implementation``.
    """
    masks = sys.modules["transformers.masking_utils"]
    try:
        function = masks.ALL_MASK_ATTENTION_FUNCTIONS[config._attn_implementation]
    except KeyError:
        function = None
    return scope.is_own(fix, function) and scope.is_own(fix, masks.find_packed_sequence_indices)


def is_flash(config: Any) -> bool:
    """Whether a configuration selects FlashAttention, judged by the registered function, not by its name."""
    function = registered(config)
    function = getattr(function, "func", function)
    # Not `__module__`, which functools.wraps copies.
    return getattr(function, "__globals__", {}).get("__name__") == FLASH


def registered(config: Any) -> Any:
    """The function that is registered under the name of a configuration's attention, or None."""
    try:
        return sys.modules["transformers.modeling_utils"].ALL_ATTENTION_FUNCTIONS[config._attn_implementation]
    except KeyError:
        return None
