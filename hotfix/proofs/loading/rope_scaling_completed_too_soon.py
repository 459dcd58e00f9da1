"""A configuration that counts what it was given, and one that sets its length after its scaling."""

from typing import Any

import torch

from hotfix.loading.rope_scaling_completed_too_soon import FIX
from hotfix.proofs.names.asking import remote
from hotfix.proofs.testbed import Target, Testbed

CODE = """
from transformers import PretrainedConfig

class CountingConfig(PretrainedConfig):
    model_type = "counting-of-ours"

    def __init__(self, max_position_embeddings=32, rope_theta=10000.0, rope_scaling=None, **kwargs):
        self.max_position_embeddings = max_position_embeddings
        self.rope_theta = rope_theta
        self.rope_scaling = rope_scaling
        self._rope_scaling_validation()
        super().__init__(**kwargs)

    def _rope_scaling_validation(self):
        if self.rope_scaling is not None and len(self.rope_scaling) != 2:
            raise ValueError(f"two fields are needed, got {self.rope_scaling}")

class LateConfig(PretrainedConfig):
    model_type = "late-of-ours"

    def __init__(self, max_position_embeddings=32, rope_theta=10000.0, rope_scaling=None, **kwargs):
        self.rope_theta = rope_theta
        self.rope_scaling = rope_scaling
        self.max_position_embeddings = max_position_embeddings
        super().__init__(**kwargs)
"""


@FIX.case(raises="ValueError: two fields are needed")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The scaling of each, when it is built, set once more, and read back from a file."""
    import tempfile

    def numbers(config: Any) -> torch.Tensor:
        scaling = config.rope_scaling
        return torch.tensor([scaling["factor"], scaling["rope_theta"], len(scaling)])

    code = remote(CODE)
    results = {}
    for name, kind in (("CountingConfig", "linear"), ("LateConfig", "yarn")):
        config = code[name](rope_scaling={"type": kind, "factor": 2.0})
        results[name] = numbers(config)
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            results[f"{name} saved"] = numbers(code[name].from_pretrained(folder))
        config.rope_scaling = {"type": kind, "factor": 4.0}
        results[f"{name} later"] = numbers(config)
    return results
