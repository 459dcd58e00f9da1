"""The child's side of the testbed: makes flash-attn run in a process without a GPU.

No test imports this module. torch and flash-attn load it through two hooks of their own, so no
import finder is needed, and `sys.meta_path` stays as in a user's process:

* `tools/testbed/path` is on `PYTHONPATH`. It holds the metadata of a "torch.backends" plug-in, and
  torch calls `install` at the end of its own import (torch 2.5 and later).
* It also holds `flash_attn_2_cuda`, the name under which flash-attn imports its compiled kernels.
  That module imports `fwd`, `bwd`, `varlen_fwd` and `varlen_bwd` from here.

Everything above the kernels is the real flash-attn: its functions, its autograd, its custom
operators, its Triton rotary kernel (interpreted, `TRITON_INTERPRET=1`).
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tools.testbed import kernel

CALLS: Counter[str] = Counter()
"""How often each kernel ran, by the name of the public function above it."""

OPERATORS = (
    "_flash_attn_forward",
    "_flash_attn_backward",
    "_flash_attn_varlen_forward",
    "_flash_attn_varlen_backward",
)

# The functions in which `transformers` decides whether FlashAttention-2 may be used: the probe, and the check at the
# construction of a model, under its names up to 4.53, up to 5.1, and later.
DECIDERS = frozenset(
    {
        "is_flash_attn_2_available",
        "_check_and_enable_flash_attn_2",
        "_flash_attn_2_can_dispatch",
        "_flash_attn_can_dispatch",
    }
)

_library: torch.library.Library | None = None
_torchvision: torch.library.Library | None = None


def install() -> None:
    """Make torch look like CUDA to the `DECIDERS` only. Called by torch."""
    _pretend_cuda()
    _tolerate_no_device()
    _stand_in_for_torchvision()
    if os.environ.get("TESTBED_CALLS"):
        atexit.register(_write_calls, Path(os.environ["TESTBED_CALLS"]))


def register_operators() -> None:
    """Give flash-attn's custom operators, which support only "cuda", a kernel for CPU tensors.

    It is the operator's own Python function, which calls the kernels below. Registered before the
    operators are defined, because flash-attn imports its kernels first.
    """
    global _library
    _library = torch.library.Library("flash_attn", "FRAGMENT")
    for name in OPERATORS:
        _library.impl(name, _own_function(name), "CPU")


def _own_function(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        interface = sys.modules["flash_attn.flash_attn_interface"]
        return getattr(interface, name)._init_fn(*args, **kwargs)

    return call


# -- torch -----------------------------------------------------------------------------------


class _Cuda:
    """An answer to "is there CUDA?" that depends on the caller.

    From 5.0.0 on, `transformers` caches the answer for the process. The Trainer reads the same cache as the check for
    flash attention, so the answer is determined when it is used, not when it is returned.
    """

    def __bool__(self) -> bool:
        return _decides(sys._getframe(1))


def _decides(frame: Any) -> bool:
    module = frame.f_globals.get("__name__", "")
    return frame.f_code.co_name in DECIDERS and module.startswith("transformers.")


def _pretend_cuda() -> None:
    really_available = torch.cuda.is_available
    version = torch.version

    def is_available() -> Any:
        caller = sys._getframe(1)
        if caller.f_code.co_name == "is_torch_cuda_available":
            return _Cuda()
        return _decides(caller) or really_available()

    # Let torch.compile treat the answer as a constant, as for the real function.
    is_available._dynamo_marked_constant = True  # type: ignore[attr-defined]
    torch.cuda.is_available = is_available

    class Version(type(version)):  # type: ignore[misc]
        @property
        def cuda(self) -> Any:
            return "12.4" if _decides(sys._getframe(1)) else self.__dict__["cuda"]

    version.__class__ = Version


def _tolerate_no_device() -> None:
    """Let `torch.cuda.device(None)` do nothing: flash-attn's rotary kernel enters it."""

    class device(torch.cuda.device):  # noqa: N801  # it stands for torch's
        def __init__(self, device: Any) -> None:
            self.none = device is None
            if not self.none:
                super().__init__(device)

        def __enter__(self) -> None:
            if not self.none:
                super().__enter__()

        def __exit__(self, *error: Any) -> Any:
            return None if self.none else super().__exit__(*error)

    torch.cuda.device = device


def _stand_in_for_torchvision() -> None:
    """Define the two operators that torchvision needs to be imported, if it cannot load them itself.

    The wheels on the package index are for CUDA, and their compiled operators need its libraries. The image transforms
    do not use them: they are Python, based on torch's operators.
    """
    global _torchvision
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return
    try:
        for compiled in Path(spec.origin).parent.glob("_C*.so"):
            torch.ops.load_library(str(compiled))
    except OSError:
        _torchvision = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _torchvision.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def _write_calls(folder: Path) -> None:
    (folder / f"{os.getpid()}.json").write_text(json.dumps(CALLS))


# -- flash_attn_2_cuda -----------------------------------------------------------------------
#
# Signatures and layouts are those that flash-attn 2.7 and 2.8 call. So are the refusals: a real kernel takes only two
# dtypes, and a bug that passes float32 must crash here as on a GPU. Autocast does not affect compiled kernels, but
# would affect the products in ours: it is off in them.


def _check(q: Tensor, k: Tensor, v: Tensor, dropout_p: float) -> None:
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise RuntimeError("FlashAttention only support fp16 and bf16 data type")
    if k.dtype != q.dtype:
        raise RuntimeError("query and key must have the same dtype")
    if v.dtype != q.dtype:
        raise RuntimeError("query and value must have the same dtype")
    if q.shape[-1] > 256 or q.shape[-1] % 8:
        raise RuntimeError(f"head dimension {q.shape[-1]} is not a multiple of 8 up to 256")
    if q.shape[-2] % k.shape[-2]:
        raise RuntimeError("Number of heads in key/value must divide number of heads in query")
    if dropout_p:
        raise NotImplementedError(f"no dropout on the CPU testbed, but dropout_p={dropout_p}")


def _check_lengths(*cu_seqlens: Tensor) -> None:
    for lengths in cu_seqlens:
        if lengths.dtype != torch.int32:
            raise RuntimeError(f"cu_seqlens must be int32, not {lengths.dtype}")


def _rounded(length: int) -> int:
    return (length + 127) // 128 * 128


@torch.autocast("cpu", enabled=False)
def fwd(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor | None, alibi: Tensor | None,
    dropout_p: float, scale: float, causal: bool, left: int, right: int, softcap: float, softmax: bool, generator: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Attention over equally long sequences, (batch, length, heads, head_dim)."""
    _check(q, k, v, dropout_p)
    rule = kernel.Rule(scale, causal, left, right, softcap, alibi)
    result, lse = kernel.forward(q, k, v, rule)
    CALLS["flash_attn_func"] += 1
    return result, lse, q.new_empty(0), torch.zeros(2, dtype=torch.int64)


@torch.autocast("cpu", enabled=False)
def bwd(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor,
    dq: Tensor, dk: Tensor, dv: Tensor, alibi: Tensor | None,
    dropout_p: float, scale: float, causal: bool, left: int, right: int, softcap: float, deterministic: bool,
    generator: Any, rng_state: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of `fwd`, written into dq, dk and dv."""
    _check(q, k, v, dropout_p)
    rule = kernel.Rule(scale, causal, left, right, softcap, alibi)
    *gradients, delta = kernel.backward(dout, q, k, v, out, lse, rule)
    for given, gradient in zip((dq, dk, dv), gradients):
        given.copy_(gradient)
    batch, length, heads, _ = q.shape
    sums = torch.zeros(batch, heads, _rounded(length))
    sums[..., :length] = delta
    CALLS["flash_attn_func backward"] += 1
    return dq, dk, dv, sums


def _pieces(
    cu_q: Tensor, cu_k: Tensor, alibi: Tensor | None, rule_of: Callable[[Tensor | None], kernel.Rule]
) -> Iterator[tuple[slice, slice, kernel.Rule]]:
    """Yield, for each sequence, its slice of the queries, of the keys, and its rule."""
    bounds = list(zip(cu_q.tolist(), cu_q.tolist()[1:], cu_k.tolist(), cu_k.tolist()[1:]))
    for index, (q0, q1, k0, k1) in enumerate(bounds):
        slopes = alibi[index] if alibi is not None and alibi.dim() == 2 else alibi
        yield slice(q0, q1), slice(k0, k1), rule_of(slopes)


@torch.autocast("cpu", enabled=False)
def varlen_fwd(
    q: Tensor, k: Tensor, v: Tensor, out: Tensor | None, cu_q: Tensor, cu_k: Tensor,
    seqused_k: Tensor | None, leftpad_k: Tensor | None, block_table: Tensor | None, alibi: Tensor | None,
    max_q: int, max_k: int, dropout_p: float, scale: float, zero_tensors: bool, causal: bool, left: int, right: int,
    softcap: float, softmax: bool, generator: Any,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Attention over sequences of any length, packed to (total, heads, head_dim)."""
    _check(q, k, v, dropout_p)
    _check_lengths(cu_q, cu_k)
    if any(option is not None for option in (seqused_k, leftpad_k, block_table)):
        raise NotImplementedError("no paged or padded key/value cache on the CPU testbed")
    result = torch.zeros_like(q)
    lse = torch.full((q.shape[1], q.shape[0]), float("inf"))
    rules = lambda slopes: kernel.Rule(scale, causal, left, right, softcap, slopes)  # noqa: E731
    for at_q, at_k, rule in _pieces(cu_q, cu_k, alibi, rules):
        piece, piece_lse = kernel.forward(q[None, at_q], k[None, at_k], v[None, at_k], rule)
        result[at_q], lse[:, at_q] = piece[0], piece_lse[0]
    CALLS["flash_attn_varlen_func"] += 1
    return result, lse, q.new_empty(0), torch.zeros(2, dtype=torch.int64)


@torch.autocast("cpu", enabled=False)
def varlen_bwd(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor,
    dq: Tensor, dk: Tensor, dv: Tensor, cu_q: Tensor, cu_k: Tensor, alibi: Tensor | None,
    max_q: int, max_k: int, dropout_p: float, scale: float, zero_tensors: bool, causal: bool, left: int, right: int,
    softcap: float, deterministic: bool, generator: Any, rng_state: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of `varlen_fwd`, written into dq, dk and dv."""
    _check(q, k, v, dropout_p)
    _check_lengths(cu_q, cu_k)
    sums = torch.zeros(q.shape[1], q.shape[0] + 128 * (cu_q.numel() - 1))
    for given in (dq, dk, dv):
        given.zero_()
    rules = lambda slopes: kernel.Rule(scale, causal, left, right, softcap, slopes)  # noqa: E731
    for index, (at_q, at_k, rule) in enumerate(_pieces(cu_q, cu_k, alibi, rules)):
        piece_dq, piece_dk, piece_dv, delta = kernel.backward(
            dout[None, at_q], q[None, at_q], k[None, at_k], v[None, at_k],
            out[None, at_q], lse[None, :, at_q], rule,
        )  # fmt: skip
        dq[at_q], dk[at_k], dv[at_k] = piece_dq[0], piece_dk[0], piece_dv[0]
        start = at_q.start + 128 * index
        sums[:, start : start + delta.shape[-1]] = delta[0]
    CALLS["flash_attn_varlen_func backward"] += 1
    return dq, dk, dv, sums
