"""The proof: a class in the manner of Florence-2 is built with FlashAttention-2, and the model inside of it runs."""

from typing import Any

import torch

from hotfix.names.remote_supports_flash_property import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import llama


@FIX.case(
    raises="ValueError: Florence does not support Flash Attention 2",
    oracles={"*": "4.53.3"},
    with_fixes=("fa2-posids-varlen-unpadded-batch", "v5-fa2-s-aux-none"),
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits of the model inside."""
    from transformers import PreTrainedModel

    small = llama(testbed, attn="flash_attention_2")

    class Florence(PreTrainedModel):
        config_class = type(small.config)

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.language_model = small
            # The name that the releases have for it since 4.54.0.
            type(small)._supports_flash_attn_2 = True

        @property
        def _supports_flash_attn_2(self) -> bool:
            return bool(self.language_model._supports_flash_attn_2)

    ids = testbed.randint(3, 60, 2, 6, seed=2)
    model = Florence._from_config(small.config, attn_implementation="flash_attention_2")
    logits = model.language_model(ids, use_cache=False).logits
    testbed.assert_flash()
    return {"logits": logits, "supports": torch.tensor(model._supports_flash_attn_2)}
