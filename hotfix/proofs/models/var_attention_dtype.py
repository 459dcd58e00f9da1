"""The case of `var-attention-dtype`."""

import torch

from hotfix.models.var_attention_dtype import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"xformers": "0.0.35"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Training and cached inference of one attention block under bfloat16 autocast, through the target's operator."""
    from hotfix.proofs.models._cases import basic_var

    if getattr(basic_var, target.qualname) is None:
        raise ImportError(f"{target.qualname} cannot be imported here, so there is nothing to prove")
    through_flash = target.qualname == "flash_attn_func"
    attention = testbed.fill(basic_var.SelfAttention(width=64, heads=2)).to(testbed.device)
    attention.using_flash, attention.using_xformers = through_flash, not through_flash
    x = testbed.randn(2, sum(LEVELS), 64).requires_grad_()
    # Flash attention takes no bias: there, training is shown without one.
    bias = None if through_flash else block_causal_bias(LEVELS).to(testbed.device)
    with torch.autocast(testbed.device, dtype=torch.bfloat16):
        output = attention(x, bias)
    output.float().square().mean().backward()
    with torch.no_grad(), torch.autocast(testbed.device, dtype=torch.bfloat16):
        attention.eval().start_caching()
        steps = [attention(level) for level in x.split(LEVELS, dim=1)]
    if through_flash:
        testbed.assert_flash("flash_attn_func")
    return {
        "output": output,
        "gradient of x": x.grad,
        **testbed.gradients(attention),
        "cached": torch.cat(steps, dim=1),
    }


LEVELS = (1, 3, 12)  # tokens per resolution; xformers wants rows of a bias to begin at multiples of 16 bytes


def block_causal_bias(levels: tuple[int, ...]) -> torch.Tensor:
    """0 where a token may see another of its own or an earlier resolution, -inf elsewhere; (1, 1, tokens, tokens)."""
    level = torch.repeat_interleave(torch.arange(len(levels)), torch.tensor(levels))
    return torch.where(level[:, None] >= level[None, :], 0.0, -torch.inf)[None, None]
