"""The proof: a copy of `generate` looks for its end tokens, and a model ties a head with a bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.neighbours.v5_small_names_removed import FIX
from hotfix.proofs.names.asking import ask

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name 'isin_|AttributeError: .* has no attribute '_tie_or_clone_weights'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Use one of them."""
    import torch
    from transformers import PretrainedConfig

    found = ask(target)
    if "." not in target.qualname:
        ids, ends = testbed.randint(0, 8, 3, 5), torch.tensor([2, 5], device=testbed.device)
        return {"several": found(ids, ends), "one": found(ids, 3)}

    class Tied(found):  # type: ignore[misc,valid-type,unused-ignore]
        config_class = PretrainedConfig

        def __init__(self, bias: bool) -> None:
            super().__init__(PretrainedConfig())
            self.words = torch.nn.Embedding(6, 4)
            self.head = torch.nn.Linear(4, 5, bias=bias)

    results = {}
    for bias in (True, False):
        model = testbed.fill(Tied(bias))
        model._tie_or_clone_weights(model.head, model.words)
        results[f"{bias} output"] = model.head(torch.ones(1, 4))
        results[f"{bias} shared"] = torch.tensor(
            [model.head.weight is model.words.weight, model.head.out_features == 6]
        )
    return results
