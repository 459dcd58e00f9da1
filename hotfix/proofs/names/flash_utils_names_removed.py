"""The proof: frameworks take from the module what it took of flash-attn."""

from typing import Any

import torch

from hotfix.names.flash_utils_names_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import one and use it."""
    restored = ask(target)
    return {**USES[target.qualname](testbed, restored), "listed": listed(target)}


def _first_axis(testbed: Testbed, index_first_axis: Any) -> dict[str, torch.Tensor]:
    hidden = testbed.randn(6, 2, 8)
    return {"taken": index_first_axis(hidden, testbed.randint(0, 6, 4))}


def _unpadded(testbed: Testbed, unpad_input: Any) -> dict[str, torch.Tensor]:
    mask = torch.tensor([[1, 1, 0], [1, 1, 1]], device=testbed.device)
    tensors = unpad_input(testbed.randn(2, 3, 4, 8), mask)
    return {str(number): torch.as_tensor(tensor) for number, tensor in enumerate(tensors)}


def _padded(testbed: Testbed, pad_input: Any) -> dict[str, torch.Tensor]:
    indices = torch.tensor([0, 1, 3, 4, 5], device=testbed.device)
    return {"padded": pad_input(testbed.randn(5, 4, 8), indices, 2, 3)}


def _attended(testbed: Testbed, flash_attn_func: Any) -> dict[str, torch.Tensor]:
    states = [testbed.randn(2, 3, 4, 8, dtype=torch.bfloat16, seed=seed) for seed in range(3)]
    out = flash_attn_func(*states, causal=True)
    testbed.assert_flash("flash_attn_func")
    return {"attended": out}


def _attended_packed(testbed: Testbed, flash_attn_varlen_func: Any) -> dict[str, torch.Tensor]:
    states = [testbed.randn(6, 4, 8, dtype=torch.bfloat16, seed=seed) for seed in range(3)]
    bounds = torch.tensor([0, 2, 6], dtype=torch.int32, device=testbed.device)
    out = flash_attn_varlen_func(*states, bounds, bounds, 4, 4, causal=True)
    testbed.assert_flash("flash_attn_varlen_func")
    return {"attended": out}


def _prepared(testbed: Testbed, prepare_fa2_from_position_ids: Any) -> dict[str, torch.Tensor]:
    positions = torch.tensor([[0, 1, 2, 0, 1], [0, 1, 0, 1, 2]], device=testbed.device)
    states = [testbed.randn(2, 5, 4, 8, seed=seed) for seed in range(3)]
    *flat, indices, bounds, longest = prepare_fa2_from_position_ids(*states, positions)
    parts = {"query": flat[0], "key": flat[1], "value": flat[2], "indices": indices}
    for number, side in enumerate(("queries", "keys")):
        parts[f"bounds of {side}"] = bounds[number]
        parts[f"longest of {side}"] = longest[number]
    return parts


def _at_least(testbed: Testbed, is_flash_attn_greater_or_equal: Any) -> dict[str, torch.Tensor]:
    versions = ("1.0", "2.1.0", "2.7.4", "99")
    return {
        "answers": torch.tensor([is_flash_attn_greater_or_equal(version) for version in versions]),
        "pickled": same_when_pickled(is_flash_attn_greater_or_equal),
    }


def _at_least_2_1(testbed: Testbed, is_flash_attn_greater_or_equal_2_10: Any) -> dict[str, torch.Tensor]:
    return {
        "answer": torch.tensor(is_flash_attn_greater_or_equal_2_10()),
        "pickled": same_when_pickled(is_flash_attn_greater_or_equal_2_10),
    }


USES = {
    "index_first_axis": _first_axis,
    "pad_input": _padded,
    "unpad_input": _unpadded,
    "flash_attn_func": _attended,
    "flash_attn_varlen_func": _attended_packed,
    "prepare_fa2_from_position_ids": _prepared,
    "is_flash_attn_greater_or_equal": _at_least,
    "is_flash_attn_greater_or_equal_2_10": _at_least_2_1,
}
