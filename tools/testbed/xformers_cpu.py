"""A CPU operator for xformers, which has none, found by xformers' own dispatch.

`xformers.ops.memory_efficient_attention` validates its inputs, chooses an operator that supports them, and ties its
forward and backward together in an autograd function. All of that is the real code here. On a torch without CUDA the
dispatch queries one operator, the one for AMD (`fmha.ck`); `registered` puts these two classes in its place.

They compute in float32 from the definition: ``softmax(scale * q k^T + bias) v``, and its gradients; under autocast too,
which does not affect compiled operators.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

CALLS: list[tuple[torch.dtype, bool]] = []
"""What the forward operator was called with: the dtype, and whether there was a bias."""


@contextmanager
def registered() -> Iterator[None]:
    """Let xformers, which must be importable, run on CPU tensors inside the block."""
    from xformers.ops.fmha import ck

    forward, backward = _operators()
    before = ck.FwOp, ck.BwOp
    ck.FwOp, ck.BwOp = forward, backward
    try:
        yield
    finally:
        ck.FwOp, ck.BwOp = before


def _operators() -> tuple[type, type]:
    from xformers.ops.fmha.common import AttentionBwOpBase, AttentionFwOpBase, Context, Gradients

    class OnCpu:
        OPERATOR = staticmethod(attend)
        SUPPORTED_DEVICES = frozenset({"cpu"})
        SUPPORTED_DTYPES = frozenset({torch.float32, torch.float16, torch.bfloat16})
        SUPPORTED_MAX_K = 65536
        SUPPORTED_ATTN_BIAS_TYPES = (type(None), Tensor)
        SUPPORTS_DROPOUT = False
        SUPPORTS_CUSTOM_SCALE = True

        @classmethod
        def not_supported_reasons(cls, inputs: Any) -> list[str]:
            # The base class ties bfloat16 to a generation of GPUs; a CPU supports it.
            reasons = super().not_supported_reasons(inputs)  # type: ignore[misc]  # of xformers' base, see below
            return [reason for reason in reasons if not reason.startswith("bf16 is only")]

    class Forward(OnCpu, AttentionFwOpBase):
        NAME = "cpuF"

        @classmethod
        def apply(cls, inputs: Any, needs_gradient: bool) -> tuple[Tensor, Any]:
            CALLS.append((inputs.query.dtype, inputs.attn_bias is not None))
            out, lse = attend(inputs.query, inputs.key, inputs.value, inputs.attn_bias, inputs.scale_float)
            return out, Context(out=out, lse=lse) if needs_gradient else None

    class Backward(OnCpu, AttentionBwOpBase):
        NAME = "cpuB"

        @classmethod
        def apply(cls, context: Any, inputs: Any, gradient: Tensor) -> Any:
            given = inputs.query, inputs.key, inputs.value, inputs.attn_bias, inputs.scale_float
            return Gradients(*gradients(gradient, *given, context.out, context.lse))

    return Forward, Backward


@torch.autocast("cpu", enabled=False)
def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, scale: float) -> tuple[Tensor, Tensor]:
    """Attend.

    Args:
        q: (batch, S_q, heads, head width).
        k: (batch, S_k, heads, head width), of the same dtype.
        v: (batch, S_k, heads, head width), of the same dtype.
        bias: (batch, heads, S_q, S_k), of the same dtype, or None.
        scale: of the scores.

    Returns:
        The output, shaped and typed like `q` and contiguous, like a kernel's; and the log-sum-exp (batch, heads, S_q)
        in float32.

    Raises:
        RuntimeError: the bias has another dtype. xformers leaves this check to the kernel (in 0.0.35 torch's
            ``_efficient_attention_forward``); the message is the kernel's.
    """
    if bias is not None and bias.dtype != q.dtype:
        raise RuntimeError("invalid dtype for bias - should match query's dtype")
    scores = _scores(q, k, bias, scale)
    out = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v.float())
    return out.to(q.dtype).contiguous(), scores.logsumexp(-1)


@torch.autocast("cpu", enabled=False)
def gradients(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, scale: float, out: Tensor, lse: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of q, k and v; `out` and `lse` are the results of `attend`, the rest are its arguments."""
    weights = torch.exp(_scores(q, k, bias, scale) - lse[..., None])
    dout = dout.float()
    dv = torch.einsum("bhij,bihd->bjhd", weights, dout)
    dweights = torch.einsum("bihd,bjhd->bhij", dout, v.float())
    dscores = weights * (dweights - torch.einsum("bihd,bihd->bhi", dout, out.float())[..., None]) * scale
    dq = torch.einsum("bhij,bjhd->bihd", dscores, k.float())
    dk = torch.einsum("bhij,bihd->bjhd", dscores, q.float())
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def _scores(q: Tensor, k: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    scores = torch.einsum("bihd,bjhd->bhij", q.float(), k.float()) * scale
    return scores if bias is None else scores + bias.float()
