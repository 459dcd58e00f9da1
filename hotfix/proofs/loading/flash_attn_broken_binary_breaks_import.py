"""A fresh interpreter in which the compiled part of flash-attn lacks a symbol imports a Llama and runs it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.flash_attn_broken_binary_breaks_import import FIX
from hotfix.proofs.loading._interpreter import LLAMA, printed
from hotfix.proofs.testbed import Target, Testbed

BROKEN = 'raise ImportError("flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE")'
USER = (
    LLAMA
    + """
try:
    config = LlamaConfig(**sizes)
    model = LlamaForCausalLM._from_config(config, attn_implementation="flash_attention_2", torch_dtype=torch.bfloat16)
    model(torch.arange(9)[None])
except Exception as error:
    results["asked for"] = f"{type(error).__name__}: {error}"  # 4.55.0 raises another error, from an earlier check
print(json.dumps(results))
"""
)


# 4.52.1 does not say what kept a module from being imported.
@FIX.case(raises="RuntimeError: .*(undefined symbol|Could not import module)", oracles={"*": "4.55.0"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits without flash-attn, and whether a request for it is refused."""
    with TemporaryDirectory() as folder:
        Path(folder, "flash_attn_2_cuda.py").write_text(BROKEN)
        results = printed(USER, folder)
    return {
        "eager": torch.tensor(results["eager"]),
        "sdpa": torch.tensor(results["sdpa"]),
        "refused who asked for it": torch.tensor("asked for" in results),
    }
