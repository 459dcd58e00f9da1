"""The proof: research code imports the helpers, and chunks and prunes with them."""

from typing import Any

import torch

from hotfix.names.apply_chunking_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import one and use it."""
    restored = ask(target)
    results = USES[target.qualname](testbed, restored)
    return {**results, "listed": listed(target), "pickled": same_when_pickled(restored)}


def _chunked(testbed: Testbed, apply_chunking_to_forward: Any) -> dict[str, torch.Tensor]:
    hidden = testbed.randn(2, 6, 8)
    whole, parts = (apply_chunking_to_forward(lambda states: states.cumsum(1), size, 1, hidden) for size in (0, 2))
    return {"whole": whole, "in parts": parts}


def _pruneable(testbed: Testbed, find_pruneable_heads_and_indices: Any) -> dict[str, torch.Tensor]:
    results = {}
    for number, (heads, gone) in enumerate((([1], set()), ([0, 2, 3], {1, 3}), ([], {0}), ([1], {1}))):
        going, index = find_pruneable_heads_and_indices(heads, 5 - len(gone), 3, gone)
        results[f"heads {number}"] = torch.tensor(sorted(going), dtype=torch.int64)
        results[f"index {number}"] = index
    return results


def _pruned(testbed: Testbed, prune: Any, *layers: Any) -> dict[str, torch.Tensor]:
    results = {}
    for number, layer in enumerate(layers):
        layer = testbed.fill(layer).to(testbed.device)
        index = torch.tensor([0, 2, 5], device=testbed.device)
        for name, given in (("by default", {}), ("inputs", {"dim": 0}), ("outputs", {"dim": 1})):
            pruned = prune(layer, index, **given)
            results.update({f"{number} {name} {part}": parameter for part, parameter in pruned.named_parameters()})
            trained = [parameter.requires_grad for parameter in pruned.parameters()]
            results[f"{number} {name} trained"] = torch.tensor(trained)
    return results


def _linear(testbed: Testbed, prune_linear_layer: Any) -> dict[str, torch.Tensor]:
    return _pruned(testbed, prune_linear_layer, torch.nn.Linear(8, 8), torch.nn.Linear(8, 6, bias=False))


def _conv1d(testbed: Testbed, prune_conv1d_layer: Any) -> dict[str, torch.Tensor]:
    from transformers.pytorch_utils import Conv1D

    return _pruned(testbed, prune_conv1d_layer, Conv1D(8, 8))


def _either(testbed: Testbed, prune_layer: Any) -> dict[str, torch.Tensor]:
    from transformers.pytorch_utils import Conv1D

    return _pruned(testbed, prune_layer, torch.nn.Linear(8, 8), Conv1D(8, 8))


def _applied(testbed: Testbed, cls: Any) -> dict[str, torch.Tensor]:
    return {"applied": testbed.fill(cls(6, 8)).to(testbed.device)(testbed.randn(2, 3, 8))}


USES = {
    "apply_chunking_to_forward": _chunked,
    "find_pruneable_heads_and_indices": _pruneable,
    "prune_linear_layer": _linear,
    "prune_conv1d_layer": _conv1d,
    "prune_layer": _either,
    "Conv1D": _applied,
}
