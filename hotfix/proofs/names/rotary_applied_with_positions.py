"""The proof: a custom attention turns queries and keys as those of 4.57 did."""

from importlib import import_module

import torch

from hotfix.names.rotary_applied_with_positions import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: unsqueeze..: argument 'dim' .position 1. must be int, not Tensor",
    packages={"flash-attn": None},
    oracles={"*": "4.57.6"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Queries and keys, by each way to pass positions."""
    turn = import_module(target.module).apply_rotary_pos_emb
    queries, keys = testbed.randn(2, 7, 5, 8, seed=1), testbed.randn(2, 3, 5, 8, seed=2)
    angles = testbed.randn(2, 5, 8, seed=3)
    positions = torch.arange(5, device=queries.device)[None]
    both = (queries, keys, angles.cos(), angles.sin())
    swapped = (queries.transpose(1, 2), keys.transpose(1, 2), *both[2:])
    turned = {
        "by position": turn(*both, positions),
        "none": turn(*both, None),
        "by name": turn(*both, position_ids=positions),
        "with a dimension": turn(*swapped, positions, 2),
        "with its name": turn(*swapped, positions, unsqueeze_dim=2),
        "without": turn(*both),
    }
    return {f"{way}: {name}": of for way, pair in turned.items() for name, of in zip(("queries", "keys"), pair)}
