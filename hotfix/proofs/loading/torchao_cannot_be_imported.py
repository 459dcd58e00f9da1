"""A fresh interpreter in which torchao cannot be imported imports a Llama and runs it."""

import torch

from hotfix.loading.torchao_cannot_be_imported import FIX
from hotfix.proofs.loading import _interpreter
from hotfix.proofs.testbed import Target, Testbed

BROKEN = "raise ImportError(\"cannot import name 'ScalingType' from 'torch.nn.functional'\")"
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
print(json.dumps(results))
"""


@FIX.case(
    raises="ScalingType|Could not import module",
    packages={"flash-attn": None, "torchao": "0.16.0"},
    oracles={"*": "4.50.3"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits without torchao."""
    return _interpreter.results(USER, "torchao", BROKEN)
