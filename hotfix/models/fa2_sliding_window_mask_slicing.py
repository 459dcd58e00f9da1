"""Under FlashAttention-2 a padded batch is continued from wrong keys as soon as it is longer than the sliding window.

Symptom   Silent: with padding and a cache, all logits past ``config.sliding_window`` tokens are wrong, also of samples
          without padding. A step with several tokens may raise, with padding and without: ``ValueError: past key must
          have a shape of (`batch_size, num_heads, self.config.sliding_window-1, head_dim`), …``. In 4.36.0 and 4.36.1
          every forward past the window with a cache raises ``KeyError: 'Cache only has 0 layers, …'``.
Cause     The padding mask is cut to the window, and so is a copy of the cache that is not used. The cache returns all
          keys and values, so the columns of the mask belong to other keys, even of other samples.
          Qwen2 and Qwen2-MoE up to 4.42.4 and Qwen2-VL do it where ``use_sliding_window`` is off, too.
Releases  4.36.0 to 4.45.2, in eight models: the table below
Upstream  transformers#34093 (fixed in 4.46.0); the crash of 4.36.0 in 4.36.2
Here      Nothing is cut. The kernel gets the window and applies it, as in a forward without a cache, whose result is
          bitwise the same. Bitwise equal to 4.46.1. The release's own code runs with a cache that keeps fewer keys than
          it was given (`SinkCache`, or one of your own) or that the program has cut, since the columns that are cut may
          belong to its keys, and with a replacement for the function that calls the kernel, which may cut the keys.

Not here  Idefics2's perceiver has a block like this one, and has neither a cache nor a sliding window. Jamba cuts the
          mask in its `prepare_inputs_for_generation`, too (4.40.0 to 4.42.4), under every attention; its checkpoints
          have no window.
"""

from __future__ import annotations

from hotfix.fix import Fix

FIX = Fix(
    title="FlashAttention-2 continues padded batches from wrong keys past the sliding window",
    kind="silent",
    upstream=("transformers#34093",),
    fixed_in="4.46.0",
    errors=(
        "ValueError: past key must have a shape of (`batch_size, num_heads, "
        "self.config.sliding_window-1, head_dim`), …",
        "KeyError: 'Cache only has 0 layers, attempted to access layer with index 0'",
    ),
    when="""
import hotfix.patching.scope as _scope
import transformers.cache_utils as _caches
(
    isinstance(past_key_value, _caches.DynamicCache)
    and (
        attention_mask is None
        or attention_mask.shape[-1] == past_key_value.get_seq_length(self.layer_idx) + hidden_states.shape[1]
    )
    and _scope.is_own("fa2-sliding-window-mask-slicing", globals().get("_flash_attention_forward"))
)
""",
    own=("past_key_value.update", "self._flash_attention_forward"),
    prefilter="slicing_tokens",
)


def _forward(name: str, classname: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{classname}.forward", releases


FIX.edits(
    _forward("jamba", "JambaFlashAttention2", ">=4.40.0,<=4.45.2"),
    _forward("mistral", "MistralFlashAttention2", ">=4.36.0,<=4.45.2"),
    _forward("mixtral", "MixtralFlashAttention2", ">=4.36.0,<=4.45.2"),
    _forward("phi3", "Phi3FlashAttention2", ">=4.41.0,<=4.45.2"),
    _forward("qwen2", "Qwen2FlashAttention2", ">=4.37.0,<=4.45.2"),
    _forward("qwen2_moe", "Qwen2MoeFlashAttention2", ">=4.40.0,<=4.45.2"),
    _forward("qwen2_vl", "Qwen2VLFlashAttention2", ">=4.45.0,<=4.45.2"),
    _forward("starcoder2", "Starcoder2FlashAttention2", ">=4.39.0,<=4.45.2"),
    old="""
        if __PAST_THE_WINDOW:
            slicing_tokens = 1 - self.config.sliding_window
            *__CACHE_IS_CUT
            if attention_mask is not None:
                attention_mask = attention_mask[:, slicing_tokens:]
                *__COLUMN_IS_ADDED
    """,
    new="",
)
