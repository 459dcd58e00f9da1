"""The proof: which tensors of a layer with a buffer are to be quantized, with a stand-in for bitsandbytes."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import torch

from hotfix.loading.bnb_buffer_key_error import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="KeyError: 'inv_freq'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The answers for quantized weights, biases, others, buffers, and a parameter that is None."""
    stand_in: Any = ModuleType("bitsandbytes")
    stand_in.nn = ModuleType("bitsandbytes.nn")
    for name, base in (
        ("Params4bit", torch.nn.Parameter),
        ("Int8Params", torch.nn.Parameter),
        ("Linear4bit", torch.nn.Linear),
        ("Linear8bitLt", torch.nn.Linear),
    ):
        setattr(stand_in.nn, name, type(name, (base,), {}))
    quantizer_class = getattr(import_module(target.module), target.qualname.split(".")[0])
    quantizer = quantizer_class.__new__(quantizer_class)
    quantizer.pre_quantized = False
    is_4bit = "4Bit" in target.qualname
    model = torch.nn.Module()
    model.layer = (stand_in.nn.Linear4bit if is_4bit else stand_in.nn.Linear8bitLt)(4, 4)
    kind = stand_in.nn.Params4bit if is_4bit else stand_in.nn.Int8Params
    model.layer.weight = kind(testbed.randn(4, 4, seed=0).cpu())
    model.head = torch.nn.Linear(4, 2, bias=False)
    model.rotary = torch.nn.Module()
    model.rotary.register_buffer("inv_freq", torch.ones(4))
    model.norm = torch.nn.BatchNorm1d(4)

    before = {name: sys.modules.get(name) for name in ("bitsandbytes", "bitsandbytes.nn")}
    sys.modules.update({"bitsandbytes": stand_in, "bitsandbytes.nn": stand_in.nn})
    try:
        state = model.state_dict()
        answers = {
            name: torch.tensor(quantizer.check_quantized_param(model, value, name, state))
            for name, value in (*state.items(), ("head.bias", torch.ones(2)))
        }
    finally:
        for name, module in before.items():
            del sys.modules[name]
            if module is not None:
                sys.modules[name] = module
    return answers
