"""The proof: configurations with annotations, as vLLM and SGLang have them."""

from typing import Any

import torch

from hotfix.loading.v5_config_dataclass_order import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: non-default argument 'vision_config' follows default", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The values of a configuration with its own constructor, and of one without."""
    from transformers import PretrainedConfig

    class Own(PretrainedConfig):
        model_type = "own"
        vision_config: dict[str, Any]
        depth: int = 3

        def __init__(self, vision_config: Any = None, **kwargs: Any) -> None:
            self.vision_config = vision_config
            super().__init__(**kwargs)

    class Plain(PretrainedConfig):
        model_type = "plain"
        width: int
        depth: int = 3

    values = []
    for config in (Own({"size": 2}), Own(vision_config={}, bos_token_id=7), Plain(width=5), Plain(width=6, depth=4)):
        own = {name: getattr(config, name, None) for name in ("vision_config", "width", "depth", "bos_token_id")}
        values.append(str(own))  # showing one is the bug of config-without-defaults-cannot-be-shown
    return {"values": words(*values)}
