"""Scaled dot-product attention as flash-attn documents it, forward and backward, for any device.

Written from the definition, for small inputs and for reading, not for speed: it builds the whole
matrix of scores. It computes the result that the documentation of `flash_attn_func` promises:

* query head `h` of `H` reads key/value head `h // (H / H_kv)`;
* scores are `scale * q k^T`, then `softcap * tanh(scores / softcap)` if `softcap > 0`, then minus
  `slope * |i + S_k - S_q - j|` with ALiBi;
* query `i` sees key `j` if `i + S_k - S_q - left <= j <= i + S_k - S_q + right`, a negative side
  meaning unlimited; `causal` sets `right` to 0. The mask is aligned at the bottom right corner;
* a query that sees no key gets zeros, and `+inf` as its log-sum-exp.

All products are accumulated in float32 (float64 for float64 inputs). There is no dropout.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rule:
    """The computation of scores, and the mask; see the module's docstring."""

    scale: float
    causal: bool = False
    left: int = -1
    right: int = -1
    softcap: float = 0.0
    alibi_slopes: Tensor | None = None  # (heads,) or (batch, heads), float32


def forward(q: Tensor, k: Tensor, v: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    """Attend.

    Args:
        q: (batch, S_q, heads, head_dim), any floating dtype.
        k: (batch, S_k, heads_kv, head_dim).
        v: (batch, S_k, heads_kv, head_dim).
        rule: scaling and masking.

    Returns:
        The output, shaped and typed like `q`, and the log-sum-exp (batch, heads, S_q) in float32.
    """
    q_, k_, v_ = _spread(q, k, v)
    scores, _ = _scores(q_, k_, rule)
    lse = _logsumexp(scores)
    out = torch.einsum("bhij,bjhd->bihd", torch.exp(scores - lse[..., None]), v_)
    return out.to(q.dtype).contiguous(), lse  # in the layout of the compiled kernel


def backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, rule: Rule
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of q, k, v and the row sums of `dout * out` (batch, heads, S_q).

    Args:
        dout: gradient of the output, like `q`.
        q: as in `forward`.
        k: as in `forward`.
        v: as in `forward`.
        out: the output of `forward`.
        lse: the log-sum-exp of `forward`.
        rule: as in `forward`.
    """
    q_, k_, v_ = _spread(q, k, v)
    dout_ = dout.to(q_.dtype)
    scores, slope = _scores(q_, k_, rule)
    weights = torch.exp(scores - lse[..., None])
    delta = torch.einsum("bihd,bihd->bhi", dout_, out.to(q_.dtype))
    dv = torch.einsum("bhij,bihd->bjhd", weights, dout_)
    dweights = torch.einsum("bihd,bjhd->bhij", dout_, v_)
    dscores = weights * (dweights - delta[..., None]) * slope * rule.scale
    dq = torch.einsum("bhij,bjhd->bihd", dscores, k_)
    dk = torch.einsum("bhij,bihd->bjhd", dscores, q_)
    return dq.to(q.dtype), _gather(dk, k), _gather(dv, v), delta


def _spread(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return q, k, v in the dtype of accumulation, k and v with as many heads as q."""
    dtype = torch.float64 if q.dtype == torch.float64 else torch.float32
    group = q.shape[2] // k.shape[2]
    return q.to(dtype), *(x.to(dtype).repeat_interleave(group, dim=2) for x in (k, v))


def _gather(gradient: Tensor, like: Tensor) -> Tensor:
    """Undo `_spread` for a gradient: add up the query heads of each key/value head."""
    batch, length, heads, head_dim = like.shape
    grouped = gradient.reshape(batch, length, heads, gradient.shape[2] // heads, head_dim)
    return grouped.sum(dim=3).to(like.dtype)


def _scores(q: Tensor, k: Tensor, rule: Rule) -> tuple[Tensor, Tensor | float]:
    """Return the masked scores (batch, heads, S_q, S_k), and their slope through the soft cap."""
    scores = torch.einsum("bihd,bjhd->bhij", q, k) * rule.scale
    slope: Tensor | float = 1.0
    if rule.softcap > 0:
        squashed = torch.tanh(scores / rule.softcap)
        scores, slope = rule.softcap * squashed, 1 - squashed**2
    length_q, length_k = scores.shape[-2:]
    i = torch.arange(length_q, device=q.device)[:, None] + length_k - length_q
    j = torch.arange(length_k, device=q.device)[None, :]
    if rule.alibi_slopes is not None:
        slopes = rule.alibi_slopes.to(scores.dtype).reshape(-1, scores.shape[1], 1, 1)
        scores = scores - slopes * (i - j).abs()
    right = 0 if rule.causal else rule.right
    hidden = torch.zeros(length_q, length_k, dtype=torch.bool, device=q.device)
    if right >= 0:
        hidden |= j > i + right
    if rule.left >= 0:
        hidden |= j < i - rule.left
    return scores.masked_fill(hidden, float("-inf")), slope


def _logsumexp(scores: Tensor) -> Tensor:
    if scores.shape[-1] == 0:
        return scores.new_full(scores.shape[:-1], float("inf"))
    lse = torch.logsumexp(scores, dim=-1)
    return lse.masked_fill(lse == float("-inf"), float("inf"))
