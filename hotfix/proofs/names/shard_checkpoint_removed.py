"""The proof: several ways to spread tensors, among them shared, large and odd ones."""

from typing import Any

import torch

from hotfix.names.shard_checkpoint_removed import FIX
from hotfix.proofs.names.asking import ask, listed, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'shard_checkpoint'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Spread a few tensors over files of several sizes."""
    shard_checkpoint = ask(target)
    large = testbed.randn(40, seed=1)
    state: dict[str, Any] = {
        "first": testbed.randn(4, 2, seed=2),
        "large": large,
        "half": testbed.randn(6, seed=3, dtype=torch.bfloat16),
        "again": large,
        "flags": testbed.randint(0, 2, 16) > 0,
        "kind": "nf4",
        "last": testbed.randn(9, seed=4),
        "nowhere": torch.empty(3, 3, device="meta"),
    }
    results = {"listed": listed(target)}
    for size, name in (
        (60, "model.safetensors"),
        ("1KB", "pytorch_model.bin"),
        (100, "adapter.bin"),
        (33, "model.bin.safetensors"),
    ):
        shards, index = shard_checkpoint(state, max_shard_size=size, weights_name=name)
        lines = [f"{file}: {' '.join(tensors)}" for file, tensors in shards.items()]
        results[f"{size} files"] = words(*lines)
        results[f"{size} index"] = words(str(index))
        results[f"{size} large"] = next(tensors["large"] for tensors in shards.values() if "large" in tensors)
    shards, index = shard_checkpoint(state, 60, "weights")  # files of one name: the last of them is what is left
    results["one name"] = words(*(f"{file}: {' '.join(tensors)}" for file, tensors in shards.items()), str(index))
    shards, index = shard_checkpoint({"one": large})
    results["default"] = words(str(list(shards)), str(index))
    return results
