"""The proof: the frequencies of a model are computed again."""

from importlib import import_module
from typing import Any

import torch

from hotfix.names.rope_init_fn_removed import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: '.*RotaryEmbedding' object has no attribute 'rope_init_fn'", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Frequencies and scale, twice, and a function that the program sets."""
    module, name = import_module(target.module), target.qualname.partition(".")[0]
    rotary: Any = getattr(module, name)(_config(module, name))
    frequencies, scale = rotary.rope_init_fn(rotary.config, torch.device("cpu"))
    again, _ = rotary.rope_init_fn(rotary.config, device=None)
    rotary.rope_init_fn = len
    results = {"frequencies": frequencies, "scale": torch.tensor(scale), "again": again}
    return {**results, "set": torch.tensor([rotary.rope_init_fn is len])}


def _config(module: Any, name: str) -> Any:
    from transformers import __version__

    stem = name.replace("TextRotaryEmbedding", "").replace("RotaryEmbedding", "")
    names = (f"{stem}TextConfig", f"{stem}Config")
    kind = next(vars(module)[each] for each in names if each in vars(module))
    if "Qwen3VL" in stem and __version__.startswith("4."):  # those of 4.57 cannot be made without it
        return kind(rope_scaling={"rope_type": "default", "mrope_section": [24, 20, 20]})
    return kind()
