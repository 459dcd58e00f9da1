"""The proof: the scaling of four configurations in the manner of InternLM2 and Phi-3, read as their models do."""

from typing import Any

import torch

from hotfix.names.rope_scaling_type_removed import FIX
from hotfix.proofs.names.asking import remote
from hotfix.proofs.testbed import Target, Testbed

OLD = """
from transformers import PretrainedConfig

class TinyConfig(PretrainedConfig):
    model_type = "tiny"

    def __init__(self, max_position_embeddings=32, rope_theta=10000.0, rope_scaling=None, **kwargs):
        self.max_position_embeddings = max_position_embeddings
        self.rope_theta = rope_theta
        self.rope_scaling = rope_scaling
        self._rope_scaling_validation()
        super().__init__(**kwargs)

    def _rope_scaling_validation(self):
        if self.rope_scaling is None:
            return
        if not isinstance(self.rope_scaling, dict) or len(self.rope_scaling) != 2:
            raise ValueError(f"two fields are needed, got {self.rope_scaling}")
        if self.rope_scaling.get("type") not in ("linear", "dynamic"):
            raise ValueError(f"no such kind: {self.rope_scaling}")

def kind(config):
    if config.rope_scaling is None:
        return 0, 1.0
    return {"linear": 1, "dynamic": 2}[config.rope_scaling["type"]], config.rope_scaling["factor"]
"""


@FIX.case(raises="KeyError: 'type'", with_fixes=("rope-scaling-completed-too-soon",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Built, and read back from a file."""
    import tempfile

    code = remote(OLD)
    results: dict[str, Any] = {}
    for name in ("none", "linear", "dynamic"):
        scaling = None if name == "none" else {"type": name, "factor": 2.0}
        config = code["TinyConfig"](rope_scaling=scaling)
        results[name] = code["kind"](config)
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            results[f"{name} saved"] = code["kind"](code["TinyConfig"].from_pretrained(folder))
    return {name: torch.tensor(value) for name, value in results.items()}
