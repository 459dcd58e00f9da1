"""Forks of VAR that work without hotfix give the same results with it, bit for bit."""

from __future__ import annotations

import importlib
import sys

import pytest

import hotfix
from hotfix.proofs.testbed import Testbed
from tools.studies.parity import var_module

torch = pytest.importorskip("torch")

ID = "var-attention-dtype"

# The fork's own attention: it computes in float32, and returns the dtype of the values.
FUSED = """
seen = []


def memory_efficient_attention(query, key, value, attn_bias=None, scale=None):
    seen.append((query.dtype, key.dtype, value.dtype))
    query, key, values = (states.transpose(1, 2).float() for states in (query, key, value))
    bias = None if attn_bias is None else attn_bias.float()
    scores = scale * query @ key.transpose(-1, -2)
    with torch.autocast("cpu", enabled=False):
        weights = (scores if bias is None else scores + bias).softmax(-1)
        return (weights @ values).transpose(1, 2).to(value.dtype)
"""


def trained(module):
    """The output and the gradients of one step under autocast, and the dtypes that the attention received."""
    attention = Testbed("cpu").fill(module.SelfAttention(width=32, heads=2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = attention(Testbed("cpu").randn(2, 5, 32), torch.zeros(1, 1, 5, 5))
    output.float().square().sum().backward()
    return [output, *(parameter.grad for parameter in attention.parameters())], list(module.seen)


def test_an_attention_that_computes_in_float32_gets_its_queries_in_float32(tmp_path, monkeypatch):
    """Number 59: they were rounded to the dtype of the values."""
    monkeypatch.syspath_prepend(str(tmp_path))
    source = var_module.text("nothing cast").replace("memory_efficient_attention: Any = None", FUSED)
    source = source.replace("    from xformers.ops import memory_efficient_attention", "    import math as _")
    stock, seen = trained(var_module.load(tmp_path, "stock", source))
    hotfix.apply(only=[ID])
    try:
        armed, seen_then = trained(var_module.load(tmp_path, "armed", source))
        rows = [row for row in hotfix.report().to_dict()["outcomes"] if row["fix"] == ID]
        assert any(row["state"] == "applied" for row in rows)
    finally:
        hotfix.revert()
        for package in ("stock", "armed"):
            sys.modules.pop(f"{package}.basic_var")
            sys.modules.pop(package)
        importlib.invalidate_caches()
    assert seen == seen_then == [(torch.float32, torch.float32, torch.bfloat16)]
    assert all(map(torch.equal, stock, armed))
