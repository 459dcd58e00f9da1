"""The proof: layers of remote code that choose their rotary embedding by ``config.rope_scaling``."""

from typing import Any

import torch

from hotfix.names.rope_scaling_never_none import FIX
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
        super().__init__(**kwargs)

class Attention:
    def __init__(self, config):
        self.config = config
        self.scale = 1.0
        if self.config.rope_scaling is not None:
            scaling_factor = self.config.rope_scaling["factor"]
            self.scale = 2 * scaling_factor
        self._init_rope()

    def _init_rope(self):
        if self.config.rope_scaling is None:
            self.kind, self.factor = "plain", 1.0
        else:
            self.kind = self.config.rope_scaling["type"]
            self.factor = self.config.rope_scaling["factor"]
"""


@FIX.case(raises="KeyError: 'type'|KeyError: 'factor'", with_fixes=("rope-scaling-completed-too-soon",))
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Built, and read back from a file."""
    import tempfile

    code = remote(OLD)
    results: dict[str, Any] = {}
    for name in ("none", "linear", "dynamic"):
        scaling = None if name == "none" else {"type": name, "factor": 2.0}
        config = code["TinyConfig"](rope_scaling=scaling)
        with tempfile.TemporaryDirectory() as folder:
            config.save_pretrained(folder)
            loaded = code["TinyConfig"].from_pretrained(folder)
        for which, each in (("", config), (" saved", loaded)):
            layer = code["Attention"](each)
            results[name + which] = torch.tensor(
                [layer.scale, layer.factor, ["plain", "linear", "dynamic"].index(layer.kind)]
            )
    return results
