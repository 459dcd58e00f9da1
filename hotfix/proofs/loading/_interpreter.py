"""A fresh interpreter in which a package is installed and cannot be imported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

LLAMA = """
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
"""
"""The logits of a small Llama, without and with torch's attention, as `results`."""


def results(program: str, package: str, broken: str) -> dict[str, torch.Tensor]:
    """The numbers that a program prints as JSON, by name.

    Args:
        program: its text.
        package: name of the package.
        broken: the text that is executed when the package is imported.

    Raises:
        RuntimeError: the program has failed; the message is the last line of its error output.
    """
    with TemporaryDirectory() as folder:
        Path(folder, package).mkdir()
        Path(folder, package, "__init__.py").write_text(broken)
        return {name: torch.tensor(value) for name, value in printed(program, folder).items()}


def printed(program: str, folder: str) -> dict[str, Any]:
    """What a program prints as JSON in its last line; hotfix is armed first where this process has armed it.

    Args:
        program: its text.
        folder: a folder of packages that it imports before all others.

    Raises:
        RuntimeError: the program has failed; the message is the last line of its error output.
    """
    path = os.pathsep.join([folder, *(entry for entry in sys.path if entry)])
    arm = "import hotfix.auto\n" if "hotfix.auto" in sys.modules else ""
    done = subprocess.run(
        [sys.executable, "-c", arm + program],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    last = done.stdout.strip().splitlines()[-1]
    values: dict[str, Any] = json.loads(last[last.index("{") :])  # behind any other output
    return values
