"""The proof: a file imports the class, and asks whether a pipeline is one."""

import torch

from hotfix.names.names_of_removed_modules import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its name, that a class can inherit from it, and that no pipeline is one."""
    from transformers import TextClassificationPipeline

    restored = ask(target)
    own = type("MyPipeline", (restored,), {})
    facts = [issubclass(own, restored), issubclass(TextClassificationPipeline, restored)]
    return {"facts": torch.tensor(facts), "called": words(restored.__name__)}
