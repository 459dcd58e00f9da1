"""GPT-2 sees the future under FlashAttention-2 wherever a batch has padding.

Symptom   Silent. With padding anywhere in a batch, every token attends to those that come after it: losses are too low,
          logits are wrong from the first token on, and `generate` continues left-padded prompts from wrong numbers.
          Batches without padding are right.
Cause     The attention asks for a causal one only where there is no mask, since other attentions have causality in the
          mask. That of FlashAttention-2 tells padding only. Up to 4.55 the interface did not listen to what it was
          asked for.
Releases  4.56.0 to 4.57.6
Upstream  transformers#41966 (fixed in 5.0.0)
Here      Under FlashAttention, self-attention asks for a causal one with a mask, too. Bitwise equal to 5.0.0.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Optional

from hotfix.fix import Fix
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="gpt2-fa2-padding-loses-causality",
    title="GPT-2 attends to the future under FlashAttention-2 in batches with padding",
    kind="silent",
    upstream=("transformers#41966",),
    fixed_in="5.0.0",
    prefilter="is_causal = attention_mask is None",
)

ATTENTION = "transformers.models.gpt2.modeling_gpt2:GPT2Attention.forward"
INTERFACE = "transformers.integrations.flash_attention:flash_attention_forward"

_UNMASKED = "attention_mask is None"


@FIX.edits((ATTENTION, ">=4.56.0,<=4.57.6"), fingerprint_of=(ATTENTION, INTERFACE))
def causal_with_a_mask_too(node: ast.AST) -> Optional[ast.Assign]:
    """Where the attention is causal only without a mask, let it be so under FlashAttention as well."""
    if not isinstance(node, ast.Assign) or ast.unparse(node.targets[0]) != "is_causal":
        return None
    condition = node.value
    if not isinstance(condition, ast.BoolOp) or not isinstance(condition.op, ast.And):
        return None
    unmasked, *others = condition.values
    if ast.unparse(unmasked) != _UNMASKED:
        return None
    [either] = code.statements(f"{_UNMASKED} or 'flash' in self.config._attn_implementation", at=unmasked)
    assert isinstance(either, ast.Expr)
    return ast.Assign(targets=node.targets, value=ast.BoolOp(op=condition.op, values=[either.value, *others]))


@FIX.recognises
def is_broken(attention: ast.FunctionDef, interface: ast.FunctionDef) -> bool:
    """A mask makes the attention one that is not causal, and the interface does as it is told."""
    asks = any(causal_with_a_mask_too(node) is not None for node in ast.walk(attention))
    listens = "is_causal = kwargs.pop('is_causal', None)" in map(ast.unparse, ast.walk(interface))
    return asks and listens


@FIX.case
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A GPT-2 takes a step on three samples, of which one is padded on the left and one on the right."""
    import torch

    model = gpt2(testbed).train()
    input_ids = testbed.randint(0, 64, 3, 9, seed=1)
    mask = torch.ones_like(input_ids)
    mask[0, :3] = mask[1, 5:] = 0
    output = model(input_ids, attention_mask=mask, labels=input_ids.where(mask.bool(), -100), use_cache=False)
    output.loss.backward()
    testbed.assert_flash("flash_attn_varlen_func")
    gradients = {f"gradient of {name}": one.grad for name, one in model.named_parameters()}
    return {"logits": output.logits * mask[..., None], "loss": output.loss, **gradients}


def gpt2(testbed: Testbed, **options: Any) -> Any:
    """A small GPT-2 without dropout; `options` as for `Testbed.model`."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=64,
        n_positions=64,
        n_embd=64,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )
    return testbed.model(GPT2LMHeadModel, config, **options)
