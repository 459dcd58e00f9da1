"""Replaces flash-attn's compiled kernels; see `tools.testbed.cpu`."""

from tools.testbed.cpu import bwd, fwd, register_operators, varlen_bwd, varlen_fwd

__all__ = ["bwd", "fwd", "varlen_bwd", "varlen_fwd"]

register_operators()
