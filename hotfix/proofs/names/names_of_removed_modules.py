"""The proof: a file imports the class, and asks whether a pipeline is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.names_of_removed_modules import FIX
from hotfix.proofs.names.asking import ask, words

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its name, that a class can inherit from it, and that no pipeline is one."""
    import torch
    from transformers import TextClassificationPipeline

    restored = ask(target)
    own = type("MyPipeline", (restored,), {})
    facts = [issubclass(own, restored), issubclass(TextClassificationPipeline, restored)]
    return {"facts": torch.tensor(facts), "called": words(restored.__name__)}
