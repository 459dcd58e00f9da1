"""The case of `fa2-varlen-kwargs-ignored`."""

from importlib import import_module

import torch

from hotfix.models.fa2_varlen_kwargs_ignored import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Sequences of 5 and 4 tokens in one row, forward and backward; no model, so no position ids."""
    shapes = {"query": (1, 9, 4, 16), "key": (1, 9, 2, 16), "value": (1, 9, 2, 16)}
    states = {
        name: testbed.randn(*shape, dtype=torch.bfloat16, seed=seed).requires_grad_()
        for seed, (name, shape) in enumerate(shapes.items())
    }
    bounds = torch.tensor([0, 5, 9], dtype=torch.int32, device=testbed.device)
    forward = import_module(target.module)._flash_attention_forward
    output = forward(
        *states.values(),
        attention_mask=None,
        query_length=9,
        is_causal=True,
        cu_seq_lens_q=bounds,
        cu_seq_lens_k=bounds,
        max_length_q=5,
        max_length_k=5,
    )
    output.float().square().mean().backward()
    testbed.assert_flash()
    gradients = {f"gradient of {name}": state.grad for name, state in states.items() if state.grad is not None}
    return {"output": output, **gradients}
