"""The proof: masks of texts with padding on the left, on the right, and alone."""

from typing import Any

import torch

from hotfix.names.unmask_unattended_of_a_mask import FIX
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="TypeError: .*_unmask_unattended\\(\\) (got an unexpected keyword|takes 2 positional)",
    packages={"flash-attn": None},
    oracles={"transformers.modeling_attn_mask_utils:AttentionMaskConverter._unmask_unattended": "4.38.2"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Masks after a call, and whether they were changed in place."""
    from transformers.modeling_attn_mask_utils import AttentionMaskConverter

    unmask: Any = AttentionMaskConverter._unmask_unattended
    tokens = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1]])
    whole = torch.full((4, 1, 4, 4), -9.0)
    results = {"whole": unmask(whole, tokens, unmasked_value=0.0), "in place": whole}
    results["heads"] = unmask(torch.full((4, 2, 4, 4), -9.0), tokens, unmasked_value=1.0)
    results["without heads"] = unmask(torch.full((4, 4, 4), -9.0), tokens, 0.0)
    results["truth"] = unmask(torch.zeros(4, 1, 4, 4, dtype=torch.bool), tokens.bool(), unmasked_value=True)
    results["none"] = unmask(torch.full((1, 1, 4, 4), -9.0), attention_mask=tokens[1:2], unmasked_value=0.0)
    results["wider"] = unmask(torch.full((4, 1, 4, 7), -9.0), tokens, unmasked_value=0.0)
    return results
