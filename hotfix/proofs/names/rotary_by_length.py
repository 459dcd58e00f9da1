"""The proof: a custom attention turns queries and keys as those of 4.36 did."""

from importlib import import_module

import torch

from hotfix.names.rotary_by_length import CLASSES, FIX
from hotfix.proofs.testbed import Target, Testbed

_BEFORE = {"4.38.0": "4.37.2", "4.42.0": "4.41.2", "4.45.0": "4.44.2", "4.48.0": "4.47.1"}


def _oracle(key: str, first: str) -> tuple[str, str]:
    folder = key.partition(":")[0]
    return f"transformers.models.{folder}.modeling_{folder}:*", _BEFORE[first]


@FIX.case(
    raises="unexpected keyword argument 'seq_len'|required positional argument: 'position_ids'",
    packages={"flash-attn": None},
    with_fixes=("rotary-by-dimension", "rotary-applied-with-positions"),
    oracles=dict(_oracle(key, first) for key, first in CLASSES.items()),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Cosine and sine of a length, and queries and keys at positions behind padding and a cache."""
    module = import_module(target.module)
    name = next(key.partition(":")[2] for key in CLASSES if key.partition(":")[0] == target.module.split(".")[2])
    embedding = getattr(module, f"{name}RotaryEmbedding")(8, max_position_embeddings=64, base=10000)
    queries, keys = testbed.randn(2, 7, 5, 8, seed=1), testbed.randn(2, 7, 5, 8, seed=2)
    positions = torch.tensor([[0, 0, 1, 2, 3], [2, 3, 4, 5, 6]], device=queries.device)
    cos, sin = embedding.to(queries.device)(queries, seq_len=7)
    turned = module.apply_rotary_pos_emb(queries, keys, cos, sin, positions)
    return {"cos": cos, "sin": sin, "queries": turned[0], "keys": turned[1]}
