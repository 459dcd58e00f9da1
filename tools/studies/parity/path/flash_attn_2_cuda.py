"""A replacement for flash-attn's compiled kernels: attention from its definition, on the tensors of any device.

`tools.testbed.kernel` makes the whole matrix of scores. It is a reference, not something to time. Results say that it
ran.
"""

from functools import wraps
from typing import Any, Callable

import torch

from tools.testbed import cpu


def _as_a_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like a compiled kernel: what it makes is where the queries are, and autocast does not reach into it."""

    @wraps(function)
    def kernel(*args: Any) -> Any:
        device = next(argument for argument in args if isinstance(argument, torch.Tensor)).device
        with device, torch.autocast(device.type, enabled=False):
            return function(*args)

    return kernel


fwd = _as_a_kernel(cpu.fwd)
bwd = _as_a_kernel(cpu.bwd)
varlen_fwd = _as_a_kernel(cpu.varlen_fwd)
varlen_bwd = _as_a_kernel(cpu.varlen_bwd)

if not torch.cuda.is_available():
    cpu.register_operators()  # flash-attn's operators know "cuda" only
