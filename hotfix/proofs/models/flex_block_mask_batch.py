"""Two texts, of which the second has padding, and two packed rows: which tokens the block mask lets each one see.

Nothing may change for a batch of one.
"""

from functools import partial
from typing import Any
from unittest.mock import patch

import torch

from hotfix.models.flex_block_mask_batch import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(packages={"flash-attn": None})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """For each row of each mask, whether a token sees another: of shape ``(batch, tokens, tokens)``."""
    from transformers.integrations import flex_attention

    rows = {
        "padded": [[1] * 9, [1] * 5 + [0] * 4],
        "packed": [[1] * 5 + [2] * 4, [1] * 3 + [2] * 3 + [3] * 3],
        "one": [[1] * 3 + [2] * 6],
    }
    results: dict[str, Any] = {}
    # Compiling the making of a mask takes a compiler and a minute, and changes nothing of the mask.
    whole = partial(flex_attention.create_block_causal_mask_flex, _compile=False)
    with patch.object(
        flex_attention, "create_block_causal_mask_flex", lambda **how: whole(**{**how, "_compile": False})
    ):
        for name, values in rows.items():
            ids = torch.tensor(values, device=testbed.device)
            for way, lengths in (("", {}), (", lengths", {"query_length": 9, "key_length": 9})):
                made = flex_attention.make_flex_block_causal_mask(ids, **lengths)
                results[f"{name}{way}"] = seen(made, *ids.shape)
    return results


def seen(mask: Any, rows: int, tokens: int) -> torch.Tensor:
    """The block mask's value for each pair of tokens, for the whole batch if it has as many rows, else for its own."""

    def of_row(row: int) -> list[list[bool]]:
        where = [torch.tensor(number) for number in range(max(rows, tokens))]
        return [
            [bool(mask.mask_mod(where[row], where[0], where[q], where[k])) for k in range(tokens)]
            for q in range(tokens)
        ]

    return torch.tensor([of_row(row) for row in range(mask.shape[0])])
