"""One attention under sdpa: its weights, and its output with one of two heads turned off."""

from importlib import import_module
from typing import Any

import torch

from hotfix.models.vit_attentions_under_sdpa import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Without attentions, with them, and with a mask of heads in training, with gradients. None counts as zeros."""
    name = target.qualname.partition("Sdpa")[0]
    module: Any = import_module(target.module)
    configuration: Any = import_module(target.module.replace(".modeling_", ".configuration_"))
    config = getattr(configuration, f"{name}Config")(hidden_size=16, num_attention_heads=2)
    kind = getattr(module, f"{name}SdpaSelfAttention", None) or getattr(module, f"{name}SelfAttention")
    attention = testbed.fill(kind(config), scale=2.0).to(testbed.device).eval()
    states = testbed.randn(2, 5, 16, seed=1)
    heads = torch.tensor([1.0, 0.0], device=testbed.device).reshape(1, 2, 1, 1)

    with torch.no_grad():
        plain, *_ = attention(states)
        output, weights = attention(states, output_attentions=True)
    masked, *_ = attention.train()(states, heads)
    (masked * testbed.randn(2, 5, 16, seed=2)).sum().backward()
    weights = torch.zeros(2, 2, 5, 5) if weights is None else weights
    gradients = testbed.gradients(attention)
    for name in [name for name in gradients if name.endswith("key.bias")]:
        del gradients[name]  # in theory 0
    return {"plain": plain, "output": output, "weights": weights, "masked": masked, **gradients}
