"""A fresh interpreter in which the compiled part of flash-attn lacks a symbol imports a Llama and runs it."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.flash_attn_broken_binary_breaks_import import FIX
from hotfix.proofs.loading._interpreter import printed
from hotfix.proofs.testbed import Target, Testbed

BROKEN = 'raise ImportError("flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationE")'
USER = """
import json, torch
from transformers import LlamaConfig, LlamaForCausalLM
torch.manual_seed(0)
sizes = dict(vocab_size=32, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
results = {}
for attention in ("eager", "sdpa"):
    model = LlamaForCausalLM._from_config(LlamaConfig(**sizes), attn_implementation=attention).eval()
    for number, one in enumerate(model.parameters()):
        one.data = torch.linspace(-0.3, 0.3 + number / 100, one.numel()).reshape(one.shape)
    results[attention] = model(torch.arange(9)[None]).logits.tolist()
try:
    config = LlamaConfig(**sizes)
    model = LlamaForCausalLM._from_config(config, attn_implementation="flash_attention_2", torch_dtype=torch.bfloat16)
    model(torch.arange(9)[None])
except Exception as error:
    results["asked for"] = f"{type(error).__name__}: {error}"  # 4.55.0 raises another error, from an earlier check
print(json.dumps(results))
"""


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
