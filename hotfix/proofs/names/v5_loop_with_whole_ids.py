"""The proof: a custom loop that passes all tokens chooses those that ``generate`` chooses."""

import torch

from hotfix.names.v5_loop_with_whole_ids import FIX
from hotfix.proofs.names.loop_without_cache_position import decoded
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(
    packages={"flash-attn": None},
    oracles={"transformers.generation.utils:GenerationMixin.prepare_inputs_for_generation": "4.42.4"},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Token ids of shape (2, 10)."""
    model = small_llama(testbed)
    ids = testbed.randint(0, 32, 2, 5)
    return {"all tokens": decoded(model, ids, "all tokens"), "the last token": decoded(model, ids, "the last token")}
