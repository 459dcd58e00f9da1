"""Decoding with a mask of the new tokens alone, together with a cache, gives garbage.

Symptom   Silent. A program that feeds one token (or embedding) at a time, with ``past_key_values`` and a mask of length
          1, generates noise, as CosyVoice 2 does.
Cause     A mask that is shorter than the keys is extended by zeros: the new tokens see the first keys of the cache, as
          many as the mask has places, and no others. Up to 4.52.4 keys without a place in the mask were seen.
Releases  4.53.0 and later
Upstream  not reported; flash attention ignores a mask without zeros, and is right
Here      A mask with as many places as there are new tokens is extended by ones, as in 4.52.4. This needs a growing
          cache of the library that already has keys, and eager, SDPA or flex attention. Every other mask, such as one
          for a static cache, is extended as in the release. Off by default: no release has gone back to it.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.pattern import occurs

FIX = Fix(
    title="Garbage from a decoding loop with past_key_values and an attention_mask of one token, as in CosyVoice",
    kind="silent",
    optin="upstream has not repaired it, and asks for a mask with places for all keys",
    prefilter="early_exit",
    exempt={
        f"transformers.masking_utils:create_bidirectional_{rest}mask": "no release has masks of one step for encoders"
        for rest in ("", "sliding_window_")
    },
)

_FUNCTIONS = ("create_causal_mask", "create_sliding_window_causal_mask", "create_chunked_causal_mask")
_COMPUTED = ("eager", "sdpa", "flex_attention")


@FIX.edits(*((f"transformers.masking_utils:{function}", ">=4.53.0") for function in _FUNCTIONS))
def with_places_for_all(node: ast.AST) -> Optional[list[ast.stmt]]:
    """Extend the mask where the release has decided that it needs one; the cache is called ``cache`` from 5.24.0 on."""
    if not (isinstance(node, ast.Assign) and occurs("_preprocess_mask_arguments(*__ALL)", node.value)):
        return None
    arguments: list[ast.expr] = node.value.args  # type: ignore[attr-defined]
    cache = next(
        each.id for each in arguments if isinstance(each, ast.Name) and each.id in ("past_key_values", "cache")
    )
    text = f"""
        if not early_exit:
            from {__name__} import extended
            attention_mask = extended(attention_mask, config, {cache}, layer_idx, kv_length + kv_offset)
    """
    return [node, *ast.parse(textwrap.dedent(text)).body]


@FIX.recognises
def fills_up_with_zeros(function: ast.AST) -> bool:
    """Whether the mask of the caller goes on as it is."""
    return occurs("if early_exit:\n    return attention_mask", function)


def extended(mask: Any, config: Any, cache: Any, layer: int, keys: Any) -> Any:
    """The mask with ones for all keys, if it has places for the new tokens alone; else the mask.

    Args:
        mask: of shape (rows, places), or None.
        config: the configuration of the model, which names the attention.
        cache: the cache of the model, or None.
        layer: the number of a layer of the cache.
        keys: the number of keys, including those of the new tokens and those that a window has left behind.
    """
    if not is_of_the_step_alone(mask, config, cache, layer, keys):
        return mask
    import torch

    return torch.nn.functional.pad(mask, (0, keys - mask.shape[-1]), value=True)


def is_of_the_step_alone(mask: Any, config: Any, cache: Any, layer: int, keys: Any) -> bool:
    """Whether a mask has as many places as there are new tokens, and a growing cache of the library has others."""
    if mask is None or mask.ndim != 2 or config._attn_implementation not in _COMPUTED:
        return False
    kind = type(cache)
    if kind.__name__ != "DynamicCache" or kind.__module__ != "transformers.cache_utils":
        return False
    # The release compares these two as well; a graph gets another condition only where the mask is too short.
    return bool(keys > mask.shape[-1] and keys - cache.get_seq_length(layer) == mask.shape[-1])
