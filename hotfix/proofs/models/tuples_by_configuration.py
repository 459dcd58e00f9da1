"""A tiny Llama whose configuration asks for tuples."""

import torch

from hotfix.models.tuples_by_configuration import FIX
from hotfix.proofs import zoo
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(
    raises="'tuple' object has no attribute 'last_hidden_state'",
    oracles={"*": "4.53.3"},
    packages={"flash-attn": None},
)
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What the model returns by number, asked by the configuration; and with labels."""
    ids = testbed.randint(3, 32, 2, 7, seed=1)
    model = zoo.llama(testbed, attn="eager")
    model.config.return_dict = False
    logits = model(ids, use_cache=False)
    loss = model(ids, labels=ids, use_cache=False)
    if not (isinstance(logits, tuple) and isinstance(loss, tuple)):
        raise TypeError("the configuration asks for tuples")
    return {"logits": logits[0], "loss": loss[0]}
