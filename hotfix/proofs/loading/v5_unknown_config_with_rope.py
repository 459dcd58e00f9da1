"""A configuration of an unknown kind is read, whose rotary positions are scaled."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from hotfix.loading.v5_unknown_config_with_rope import FIX
from hotfix.proofs.testbed import Target, Testbed

SCALING = {
    "rope_type": "llama3",
    "factor": 8.0,
    "high_freq_factor": 4.0,
    "low_freq_factor": 1.0,
    "original_max_position_embeddings": 64,
}


@FIX.case(raises="AttributeError: 'PreTrainedConfig' object has no attribute 'max_position_embeddings'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The numbers of the configuration."""
    config = read({"rope_scaling": SCALING, "rope_theta": 500000.0})
    scaling = config.rope_scaling
    return {
        "positions": torch.tensor(config.max_position_embeddings),
        **{name: torch.tensor(scaling[name]) for name in SCALING if name != "rope_type"},
    }


def read(rope: dict[str, Any]) -> Any:
    """A configuration of an unknown kind, from a file."""
    from transformers import PretrainedConfig

    values = {"model_type": "nemotron-nas", "hidden_size": 64, "max_position_embeddings": 512, **rope}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(values))
        return PretrainedConfig.from_pretrained(folder)
