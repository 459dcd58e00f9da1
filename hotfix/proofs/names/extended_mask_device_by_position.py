"""The proof: masks of an encoder and a decoder, with a device as the third argument."""

from typing import Any

import torch

from hotfix.names.extended_mask_device_by_position import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="TypeError: to\\(\\) received an invalid combination", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The masks."""
    from transformers import BertConfig, BertModel

    mask = torch.tensor([[1, 1, 0], [1, 1, 1]])
    results = {}
    for is_decoder in (False, True):
        sizes: dict[str, Any] = {"vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
        model = BertModel(BertConfig(intermediate_size=8, is_decoder=is_decoder, **sizes))
        for rows in (mask, mask[:, None, :].expand(2, 3, 3)):
            extended = model.get_extended_attention_mask(rows, (2, 3), rows.device)
            results[f"{is_decoder} {rows.dim()}"] = extended.expand(2, 1, 3, 3)
    return results
