"""The proof: a class in the manner of Florence-2 is built, and asks the model inside of it after that."""

from typing import Any

import torch

from hotfix.names.remote_supports_sdpa_property import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(raises="AttributeError: 'Florence' object has no attribute '_supports_sdpa'", packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """A model inside of another one."""
    from transformers import PreTrainedModel

    small = llama(testbed, attn="sdpa", dtype=torch.float32)

    class Florence(PreTrainedModel):
        config_class = type(small.config)

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.language_model = small

        @property
        def _supports_sdpa(self) -> bool:
            return bool(self.language_model._supports_sdpa)

    ids = testbed.randint(3, 60, 1, 4, seed=2)
    model = Florence._from_config(small.config, attn_implementation="sdpa")
    return {"logits": model.language_model(ids).logits, "supports": torch.tensor(model._supports_sdpa)}
