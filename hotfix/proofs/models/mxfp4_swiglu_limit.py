"""The experts of GPT-OSS in MXFP4, over kernels that do what those of triton_kernels do, for one expert on the CPU.

The real kernels run on a GPU only. The case tests the layer's calls of them.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import torch

from hotfix.models.mxfp4_swiglu_limit import FIX
from hotfix.proofs.testbed import Target, Testbed

_Specs = namedtuple("_Specs", "name fn names")
_Activation = namedtuple("_Activation", "specs arguments halves")


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Output for activations of up to 20 times, and for small ones, which no limit touches."""
    mxfp4 = import_module("transformers.integrations.mxfp4")
    config = SimpleNamespace(num_local_experts=1, intermediate_size=32, hidden_size=32)
    results = {}
    with _on_the_cpu(mxfp4), torch.no_grad():
        experts = mxfp4.Mxfp4GptOssExperts(config)
        experts.gate_up_proj, experts.down_proj = testbed.randn(32, 64, seed=1), testbed.randn(32, 32, seed=2)
        for size in (1e-3, 20.0):
            hidden = size * testbed.randn(9, 32, seed=3)
            routing = SimpleNamespace(gate_scal=None)
            results[f"times {size}"] = experts.to(hidden.device)(hidden, routing, None, None)
    return results


def _matmul(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    y = x @ weight + bias[0]
    act = options.get("fused_activation")
    return y if act is None else act.specs.fn(y, **dict(zip(act.specs.names, act.arguments)))


def _swiglu(y: torch.Tensor, alpha: float, limit: float | None) -> torch.Tensor:
    gate, linear = y[..., ::2], y[..., 1::2]
    if limit is not None:
        gate, linear = gate.clamp(max=limit), linear.clamp(-limit, limit)
    return gate * (alpha * gate).sigmoid() * (linear + 1)


def _kernels() -> tuple[ModuleType, ModuleType]:
    matmul_ogs, swiglu = ModuleType("triton_kernels.matmul_ogs"), ModuleType("triton_kernels.swiglu")
    vars(matmul_ogs).update(FnSpecs=_Specs, FusedActivation=_Activation, matmul_ogs=_matmul)
    vars(swiglu).update(swiglu_fn=_swiglu)
    return matmul_ogs, swiglu


@contextmanager
def _on_the_cpu(mxfp4: Any) -> Iterator[None]:
    """The kernels where 4.55.0 imports them from and where later releases have them, and no device to be entered."""
    matmul_ogs, swiglu = _kernels()
    modules = {
        "triton_kernels": ModuleType("triton_kernels"),
        **{module.__name__: module for module in (matmul_ogs, swiglu)},
    }
    hub = SimpleNamespace(matmul_ogs=matmul_ogs, swiglu=swiglu)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(sys.modules, modules))
        stack.enter_context(mock.patch.object(mxfp4, "triton_kernels_hub", hub, create=True))
        stack.enter_context(mock.patch.object(torch.cuda, "device", return_value=nullcontext()))
        yield
