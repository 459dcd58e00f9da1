"""An attention block with the bug of VAR's, and its name: what the case of `var-attention-dtype` runs.

Our own, in the manner of the first revisions: queries and keys are normalized, queries scaled by a learned factor per
head, keys and values cached at inference, and neither attention call casts.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Optional

import torch
from torch import nn
from torch.nn.functional import normalize, scaled_dot_product_attention

memory_efficient_attention: Any = None
flash_attn_func: Any = None
with suppress(ImportError):
    from xformers.ops import memory_efficient_attention  # type: ignore[no-redef, unused-ignore]
with suppress(ImportError):
    from flash_attn import flash_attn_func  # type: ignore[no-redef, unused-ignore]


class SelfAttention(nn.Module):
    """Attention over (batch, length, width); `attn_bias`, for training, is (1, 1, length, length)."""

    def __init__(self, width: int, heads: int, fused: bool = True) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.log_scale = nn.Parameter(torch.full((heads, 1), math.log(4.0)))
        self.using_flash = fused and flash_attn_func is not None
        self.using_xformers = fused and memory_efficient_attention is not None
        self.caching = False
        self.cache: Optional[tuple[torch.Tensor, torch.Tensor]] = None

    def start_caching(self) -> None:
        self.caching, self.cache = True, None

    def forward(self, x: torch.Tensor, attn_bias: Optional[torch.Tensor] = None) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).unbind(2)
        dtype = v.dtype
        # On a GPU, autocast normalizes in float32 by itself; .float() makes it so on every device.
        q = normalize(q.float(), dim=-1) * self.log_scale.clamp_max(math.log(100.0)).exp()
        k = normalize(k.float(), dim=-1)
        if self.caching:
            if self.cache:
                k, v = torch.cat((self.cache[0], k), 1), torch.cat((self.cache[1], v), 1)
            self.cache = k, v
        if self.using_flash and attn_bias is None and dtype != torch.float32:
            out = flash_attn_func(q, k, v, softmax_scale=1.0)
        elif self.using_xformers:
            if attn_bias is not None:
                attn_bias = attn_bias.to(q.dtype).expand(batch, self.heads, -1, -1)
            out = memory_efficient_attention(q, k, v, attn_bias=attn_bias, scale=1.0)
        else:
            q, k, v = (states.transpose(1, 2) for states in (q, k, v))
            out = scaled_dot_product_attention(q, k, v, attn_mask=attn_bias, scale=1.0).transpose(1, 2)
        return self.proj(out.reshape(batch, length, width))
