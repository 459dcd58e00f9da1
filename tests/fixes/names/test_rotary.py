"""An attention that was written for 4.37 turns queries and keys in later releases as it did there."""

from __future__ import annotations

import pytest

from tools.testbed.run import run

pytest.importorskip("torch")
pytestmark = pytest.mark.testbed

PROGRAM = """
import torch
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb


class OldAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads, self.head_dim = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.q_proj = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.rotary_emb = LlamaRotaryEmbedding(
            self.head_dim, max_position_embeddings=config.max_position_embeddings, base=10000
        )

    def forward(self, hidden_states, position_ids):
        batch, length, _ = hidden_states.shape
        queries = self.q_proj(hidden_states).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        cos, sin = self.rotary_emb(queries, seq_len=int(position_ids.max()) + 1)
        return apply_rotary_pos_emb(queries, queries, cos, sin, position_ids)


torch.manual_seed(0)
attention = OldAttention(LlamaConfig(hidden_size=32, num_attention_heads=4, max_position_embeddings=64))
for length, first in ((5, 0), (4, 0), (4, 3), (1, 7), (1, 3), (1, 0)):  # four positions: as many as heads
    states = torch.randn(2, length, 32, generator=torch.Generator().manual_seed(length))
    positions = torch.arange(first, first + length)[None].expand(2, -1)
    turned, _ = attention(states, positions)
    print(length, first, [round(float(part.sum()), 3) for part in turned.flatten(0, 1)])
print(sorted(attention.state_dict()))
"""


@pytest.mark.parametrize("release", ["4.40.0", "4.48.0", "5.0.0", "5.23.0"])
def test_an_attention_of_before_4_38(release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    before = run(program, hotfix=False, transformers="4.37.2", flash_attn=None).require()
    assert run(program, hotfix=False, transformers=release, flash_attn=None).returncode == 1
    assert run(program, hotfix=True, transformers=release, flash_attn=None).require().stdout == before.stdout


COPIES = """
import torch
from transformers import LlamaConfig
from transformers.models.llama import modeling_llama as llama

try:
    rotary = llama.LlamaRotaryEmbedding(8, max_position_embeddings=64)
except TypeError:
    rotary = llama.LlamaRotaryEmbedding(config=LlamaConfig(hidden_size=32, num_attention_heads=4))
queries = torch.randn(1, 4, 1, 8, generator=torch.Generator().manual_seed(1))
changes = [lambda rows: rows, lambda rows: rows.to(torch.float64).float(), lambda rows: rows * 1.0, torch.clone]
for length in (1, 4, 7):  # four rows: as many as heads
    for change in changes:
        cos, sin = map(change, rotary(x=queries, seq_len=length))
        at = torch.tensor([[length - 1]])
        turned, _ = llama.apply_rotary_pos_emb(q=queries, k=queries, cos=cos, sin=sin, position_ids=at)
        print(length, round(float(turned.sum()), 4))
"""
SCALED = """
import torch
from transformers.models.llama import modeling_llama as llama

queries = torch.randn(1, 4, 1, 8, generator=torch.Generator().manual_seed(1))
for kind in (llama.LlamaLinearScalingRotaryEmbedding, llama.LlamaDynamicNTKScalingRotaryEmbedding):
    for length in (5, 20):
        cos, sin = kind(8, max_position_embeddings=16, scaling_factor=2.0)(queries, seq_len=length)
        turned, _ = llama.apply_rotary_pos_emb(queries, queries, cos, sin, torch.tensor([[length - 1]]))
        print(tuple(cos.shape), round(float(cos.sum()), 4), round(float(turned.sum()), 4))
"""


@pytest.mark.parametrize(
    ("text", "release"),
    [
        *((COPIES, release) for release in ("4.40.2", "4.48.0", "5.23.0")),
        *((SCALED, f"4.{x}") for x in ("38.2", "42.4")),
    ],
)
def test_rows_that_were_copied_and_rows_that_are_scaled(text, release, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(text, encoding="utf-8")
    before = run(program, hotfix=False, transformers="4.37.2", flash_attn=None).require()
    assert run(program, hotfix=False, transformers=release, flash_attn=None).returncode == 1
    assert run(program, hotfix=True, transformers=release, flash_attn=None).require().stdout == before.stdout
