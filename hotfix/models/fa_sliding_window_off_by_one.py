"""Under flash attention the sliding window is one token too wide.

Symptom   Silent: past the window each query sees one key more than ``config.sliding_window``, and than eager and SDPA
          attention show it; logits, losses and gradients differ from theirs in every layer.
Cause     flash-attn counts the keys to the left of the query, without the query itself; a configuration counts all keys
          that a query sees. The configured number is passed to flash-attn unchanged.
Releases  4.36.0 to 4.55.4: the table below. Up to 4.42.4 in the attention of each model, then in one function for all.
Upstream  transformers#39408, transformers#40163 (fixed in 4.56.0)
Here      ``window_size`` is one less on both sides in causal attention. Each query sees exactly ``sliding_window``
          keys, itself among them. Attention that is not causal is left alone: a window to both sides means the keys on
          each side, as in ModernBERT, and as 4.56.0 assumes. So are a window of 0 or less, a kernel of your own in
          place of flash-attn's, which may count otherwise, and a call from your own code with another window than the
          configuration of its module has.
          With one common function, Mistral and Gemma2 are bitwise equal to 4.56.0, their gradients from 4.48.0 on
          (before, those of embeddings and norms are rounded differently); older releases round differently in many
          places. A model that was trained with one of these releases was trained with one key more.
          Idefics2 in 4.43.0 to 4.43.4 asks for a window of ``False``, which was one of 0 keys to either side in its
          perceiver. It is none now, as from 4.44.0 on.

Not here  Idefics2 (4.40.0 to 4.42.4) and Gemma2 (4.42.0 to 4.42.4) have the line in a function of their own and never
          reach it. Continuous batching has a window of its own, which upstream has fixed in 4.57.
"""

from __future__ import annotations

import sys
from typing import Any

from hotfix.fix import Fix
from hotfix.patching import scope
from hotfix.patching.compiling import is_compiling

FIX = Fix(
    title="Flash attention sees one key more than sliding_window",
    kind="silent",
    upstream=("transformers#39408", "transformers#40163"),
    fixed_in="4.56.0",
    when="""
import hotfix.models._kernels as _kernels
_kernels.are_own_in("fa-sliding-window-off-by-one", __name__)
""",
    order=1,
    prefilter="window_size",
    exempt={
        "transformers.models.gemma2.modeling_gemma2:Gemma2FlashAttention2._flash_attention_forward": (
            "it applies the window where cache_position is past it, and never gets a cache_position"
        ),
        "transformers.models.gemma2.diff_gemma2:Gemma2FlashAttention2._flash_attention_forward": (
            "modeling_gemma2 was generated from it; nothing imports it"
        ),
        "transformers.models.idefics2.modeling_idefics2:Idefics2PerceiverFlashAttention2._flash_attention_forward": (
            "its only caller asks for no window"
        ),
    },
)

UTILS = "transformers.modeling_flash_attention_utils"
_BELOW = (UTILS, "transformers.integrations.flash_attention")  # they pass on the window that they are given

FIX.edits(
    (f"{UTILS}:_flash_attention_forward", ">=4.43.0,<=4.55.0"),
    (f"{UTILS}:_process_flash_attention_kwargs", ">=4.55.1,<=4.55.4"),
    old="(sliding_window, sliding_window)",
    new="""
        (
            (sliding_window - 1,)
            if sliding_window is False or is_causal and sliding_window > 0
            else (sliding_window,)
        ) * 2
    """,
    when=f"""
import hotfix.models._kernels as _kernels
import {__name__} as _fix
_kernels.are_own_in("fa-sliding-window-off-by-one", __name__) and _fix.is_configured(sliding_window)
""",
)


def is_configured(window: Any) -> bool:
    """Whether a window is that of the configuration, which counts all keys, or is asked for by the library without one.

    Args:
        window: ``sliding_window`` of a call.
    """
    if window is None or is_compiling():
        return True
    below, frame = [], sys._getframe(1)
    while (name := str(frame.f_globals.get("__name__"))) in _BELOW or name.startswith("hotfix."):
        below.append(frame)
        if frame.f_back is None:
            return True
        frame = frame.f_back
    is_of_the_library = name.startswith("transformers.")
    for caller in (frame, *below):
        for argument in ("self", "module"):
            module = caller.f_locals.get(argument)
            own = getattr(module, "__dict__", {})  # reading other attributes may run user code
            configured = getattr(own.get("config"), "sliding_window", None)
            if window == configured or (window == own.get("sliding_window") and _is_known(module, configured)):
                return True
            is_of_the_library = is_of_the_library and not isinstance(configured, int)
    if is_of_the_library:
        return True
    return scope.leave_alone(FIX.id, f"{frame.f_code.co_name} asks for a window of its own")


def _is_known(module: Any, configured: Any) -> bool:
    """Whether a module has its window from a constructor of the library, and no configuration has another."""
    derived = any(kind.__module__.startswith("transformers.") for kind in type(module).__mro__)
    return derived and not isinstance(configured, int)


def _own(name: str, classname: str, releases: str) -> tuple[str, str]:
    return f"transformers.models.{name}.modeling_{name}:{classname}._flash_attention_forward", releases


# A model's own function has the line twice: for batches with padding and for those without.
FIX.edits(
    _own("jamba", "JambaFlashAttention2", ">=4.40.0,<=4.42.4"),
    _own("mistral", "MistralFlashAttention2", ">=4.36.0,<=4.42.4"),
    _own("mixtral", "MixtralFlashAttention2", ">=4.36.0,<=4.42.4"),
    _own("phi3", "Phi3FlashAttention2", ">=4.41.0,<=4.42.4"),
    _own("qwen2", "Qwen2FlashAttention2", ">=4.37.0,<=4.42.4"),
    _own("qwen2_moe", "Qwen2MoeFlashAttention2", ">=4.40.0,<=4.42.4"),
    _own("starcoder2", "Starcoder2FlashAttention2", ">=4.39.0,<=4.42.4"),
    old="(__OWNER.sliding_window, __OWNER.sliding_window)",
    new="""
        (
            (__OWNER.sliding_window - 1,)
            if self.is_causal and __OWNER.sliding_window > 0
            else (__OWNER.sliding_window,)
        ) * 2
    """,
    count=2,
)
