"""The proof: a class inherits from it, and is used in generation."""

from typing import Any

import torch

from hotfix.neighbours.logits_warper_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'LogitsWarper'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Inherit from it, draw with it, and call the abstract one."""
    from transformers import LogitsProcessorList

    cls = ask(target)

    class Halved(cls):  # type: ignore[misc,valid-type,unused-ignore]
        def __call__(self, input_ids: Any, scores: Any) -> Any:
            return scores / 2

    ids, scores = testbed.randint(0, 8, 2, 3), testbed.randn(2, 8)
    try:
        cls()(ids, scores)
        said = "nothing"
    except NotImplementedError as error:
        said = str(error)
    return {
        "halved": LogitsProcessorList([Halved()])(ids, scores),
        "abstract": words(said),
        "kind": torch.tensor(isinstance(Halved(), cls)),
        "listed": listed(target),
        "pickled": same_when_pickled(cls),
    }
