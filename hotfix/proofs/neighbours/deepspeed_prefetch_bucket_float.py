"""The proof: the Trainer's part of a ZeRO-3 configuration is filled in, and checked as DeepSpeed checks it."""

from typing import Any

import torch

from hotfix.neighbours.deepspeed_prefetch_bucket_float import FIX
from hotfix.proofs.testbed import Target, Testbed

KEYS = ("reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold")


@FIX.case(raises="TypeError: .*stage3_prefetch_bucket_size Input should be a valid integer")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Fill in "auto" for a hidden size whose nine tenths are no whole number, and leave numbers alone."""
    from types import SimpleNamespace

    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    class Filled(HfTrainerDeepSpeedConfig):
        def __init__(self, value: Any) -> None:
            self.config = {"zero_optimization": {"stage": 3, **dict.fromkeys(KEYS, value)}}
            self.mismatches: list[str] = []

        # Replaces accelerate's part of the class, which is absent without deepspeed.
        def find_config_node(self, long: str) -> Any:
            *path, key = long.split(".")
            node: Any = self.config
            for part in path:
                node = (node or {}).get(part)
            return node, key

        def get_value(self, long: str) -> Any:
            node, key = self.find_config_node(long)
            return (node or {}).get(key)

        def is_zero3(self) -> bool:
            return True

    results = {}
    for name, value in (("auto", "auto"), ("given", 1234)):
        filled = Filled(value)
        model = SimpleNamespace(config=SimpleNamespace(hidden_size=33))
        arguments = SimpleNamespace(get_warmup_steps=lambda steps: 0)
        filled.trainer_config_finalize(arguments, model, 10)
        for key in KEYS:
            size = filled.config["zero_optimization"][key]
            if not isinstance(size, int):
                raise TypeError(f"DeepSpeedZeroConfig: {key} Input should be a valid integer, not {size}")
            results[f"{name} {key}"] = torch.tensor(size)
    return results
