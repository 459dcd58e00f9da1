"""The proof: rotary embeddings of three dimensions, made as custom attention layers make them."""

from importlib import import_module
from inspect import signature
from typing import Any, Callable

import torch

from hotfix.names.rotary_by_dimension import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*__init__.. got an unexpected keyword argument 'dim'",
    oracles={"*": "4.47.1", "transformers.models.chameleon.*": "4.57.6", "transformers.models.dbrx.*": "4.57.6"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The frequencies, cosine and sine of ten positions, and the attributes."""
    cls = getattr(import_module(target.module), target.qualname.partition(".")[0])
    inputs, positions, results = testbed.randn(1, 2, 10, 8), torch.arange(10, device=testbed.device)[None], {}
    ways: dict[str, Callable[[], Any]] = {
        "by name": lambda: cls(dim=8, max_position_embeddings=64, base=500.0, device=testbed.device),
        "by position": lambda: cls(16, 64, 10000),
        "both": lambda: cls(4, max_position_embeddings=32),
        "alone": lambda: cls(8),
    }
    for way, make in ways.items():
        made = make().to(testbed.device)
        results[f"{way}: frequencies"] = made.inv_freq
        if "position_ids" in signature(made.forward).parameters:
            cosine, sine = made(inputs, positions)
            results[f"{way}: angles"] = torch.stack((cosine, sine))
        else:  # to 4.47, Mixtral's take a length
            results[f"{way}: angles"] = torch.stack(made(inputs, seq_len=10))[:, None]
    return results
