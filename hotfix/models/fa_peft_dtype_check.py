"""FlashAttention-2 refuses float32 queries and keys where the values are in half precision.

Symptom   ``RuntimeError: FlashAttention only support fp16 and bf16 data type`` in the first attention layer: for
          weights in float32 under autocast (``bf16=True`` or ``fp16=True`` of the Trainer), where the rotary embedding
          makes queries and keys float32; and for LoRA on models with norms of queries and keys, which are kept in
          float32.
Cause     The check that casts everything back to half precision reads the dtype of the values, which no norm and no
          rotary embedding has touched. Who calls it has chosen the dtype to cast to by that of the queries.
Releases  4.48.0 to 4.48.3. The check is the same in 4.47, where only GPT-NeoX goes through it, and chooses by the
          values too.
Upstream  transformers#35834 (fixed in 4.49.0)
Here      The dtype of the queries is read. Bitwise equal to 4.49.0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Optional

from hotfix.fix import Fix
from hotfix.models._generation import llama
from hotfix.patching import code

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


FIX = Fix(
    id="fa-peft-dtype-check",
    title="FlashAttention-2 refuses float32 queries and keys of half-precision values, as autocast and LoRA make them",
    kind="crash",
    upstream=("transformers#35834",),
    fixed_in="4.49.0",
    prefilter="def fa_peft_integration_check",
)

CHECK = "transformers.modeling_flash_attention_utils:fa_peft_integration_check"
CALLER = "transformers.integrations.flash_attention:flash_attention_forward"


@FIX.edits((CHECK, ">=4.48.0,<=4.48.3"), fingerprint_of=(CHECK, CALLER))
def dtype_of_the_queries(node: ast.AST) -> Optional[ast.Assign]:
    """Where the check asks for the dtype of the values, ask for that of the queries."""
    if not isinstance(node, ast.Assign) or ast.unparse(node) != "input_dtype = value.dtype":
        return None
    [asking] = code.statements("input_dtype = query.dtype", at=node)
    assert isinstance(asking, ast.Assign)
    return asking


@FIX.recognises
def is_broken(check: ast.FunctionDef, caller: ast.FunctionDef) -> bool:
    """The check reads the dtype of the values, and its caller that of the queries."""
    reads = any(dtype_of_the_queries(node) is not None for node in ast.walk(check))
    asked = [ast.unparse(node.test) for node in ast.walk(caller) if isinstance(node, ast.If)]
    return reads and "query.dtype == torch.float32" in asked


@FIX.case(raises="FlashAttention only support fp16 and bf16 data type")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama with float32 weights takes a training step under autocast to bfloat16."""
    import torch

    model = llama(testbed, dtype=torch.float32).train()
    input_ids = testbed.randint(0, 64, 2, 9, seed=1)
    with autocast(testbed.device):
        output = model(input_ids, labels=input_ids, use_cache=False)
    output.loss.backward()
    testbed.assert_flash("flash_attn_func")
    gradients = {f"gradient of {name}": one.grad for name, one in model.named_parameters()}
    return {"logits": output.logits, "loss": output.loss, **gradients}


@contextmanager
def autocast(device: str) -> Iterator[None]:
    """Autocast to bfloat16. On the CPU, CUDA is said to have it too: that is what `transformers` asks about."""
    import torch

    with torch.autocast(device, torch.bfloat16):
        was = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        try:
            yield
        finally:
            torch.set_autocast_enabled("cuda", was[0])
            torch.set_autocast_dtype("cuda", was[1])
