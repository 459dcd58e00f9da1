"""A fresh interpreter in which torchao cannot be imported imports a Llama and runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from hotfix.loading.torchao_cannot_be_imported import FIX
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
    with TemporaryDirectory() as folder:
        Path(folder, "torchao").mkdir()
        Path(folder, "torchao", "__init__.py").write_text(BROKEN)
        path = os.pathsep.join([folder, *(entry for entry in sys.path if entry)])
        arm = "import hotfix.auto\n" if "hotfix.auto" in sys.modules else ""
        done = subprocess.run(
            [sys.executable, "-c", arm + USER],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    results = json.loads(done.stdout.strip().splitlines()[-1])
    return {name: torch.tensor(value) for name, value in results.items()}
