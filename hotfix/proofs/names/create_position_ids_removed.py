"""The proof: positions of a padded batch, with and without a past."""

import torch

from hotfix.names.create_position_ids_removed import FIX
from hotfix.proofs.names.asking import ask
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Positions by place and by name, for two types of ids, and the error for one that has no rows."""
    positions = ask(target)
    ids = torch.tensor([[5, 6, 7, 1, 1], [1, 1, 8, 9, 4], [1, 1, 1, 1, 1]])
    results = {
        "plain": positions(ids, 1),
        "past": positions(ids, 1, 3),
        "named": positions(input_ids=ids.int(), padding_idx=0, past_key_values_length=2),
        "no tokens": positions(ids[:, :0], 1),
    }
    try:
        positions(ids[0, 0], 1)
    except IndexError:
        results["scalar"] = torch.tensor(True)
    return results
