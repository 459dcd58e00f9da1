"""The case of `fa-peft-dtype-check`."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from hotfix.models.fa_peft_dtype_check import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="FlashAttention only support fp16 and bf16 data type")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A Llama with float32 weights takes a training step under autocast to bfloat16."""
    model = llama(testbed, dtype=torch.float32).train()
    input_ids = testbed.randint(0, 64, 2, 9, seed=1)
    with autocast(testbed.device):
        output = model(input_ids, labels=input_ids, use_cache=False)
    output.loss.backward()
    testbed.assert_flash("flash_attn_func")
    return {"logits": output.logits, "loss": output.loss, **testbed.gradients(model)}


@contextmanager
def autocast(device: str) -> Iterator[None]:
    """Autocast to bfloat16. On the CPU it is enabled for CUDA as well, since `transformers` checks that."""
    with torch.autocast(device, torch.bfloat16):
        was = torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda")
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        try:
            yield
        finally:
            torch.set_autocast_enabled("cuda", was[0])
            torch.set_autocast_dtype("cuda", was[1])
