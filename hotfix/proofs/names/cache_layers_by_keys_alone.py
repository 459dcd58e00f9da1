"""Layers of the three kinds are prepared by their keys, and then filled."""

from typing import Any

import torch

from hotfix.names.cache_layers_by_keys_alone import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises=r"lazy_initialization\(\) missing 1 required positional argument: 'value_states'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The keys and values after two updates, of a layer of the target's class and of one derived from it."""
    from transformers import cache_utils

    name = target.qualname.partition(".")[0]
    kind: Any = getattr(cache_utils, name)
    made = {"DynamicLayer": (), "DynamicSlidingWindowLayer": (4,), "StaticLayer": (9,)}[name]

    class Derived(kind):
        def update(self, keys: torch.Tensor, values: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if not self.is_initialized:
                self.lazy_initialization(keys)
            return super().update(keys, values, *args, **kwargs)

    results = {}
    for cls in (kind, Derived):
        layer = cls(*made)
        keys, values = (testbed.randn(2, 3, 5, 8, seed=seed) for seed in (1, 2))
        if cls is kind:
            layer.lazy_initialization(keys)
        for start in (0, 3):
            part = slice(start, start + 3)
            settings = {"cache_position": torch.arange(5)[part]}
            layer.update(keys[:, :, part], values[:, :, part], settings)
        results.update({f"{cls.__name__}, keys": layer.keys, f"{cls.__name__}, values": layer.values})
    return results
