"""The proof: a copy of `generate` asks a model that can generate and one that cannot."""

from typing import Any

import torch

from hotfix.neighbours.validate_model_class_removed import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .* has no attribute '_validate_model_class'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask both."""
    from transformers.generation.utils import GenerationMixin

    class Able(GenerationMixin):
        @classmethod
        def can_generate(cls) -> bool:
            return True

    class Unable(GenerationMixin):
        @classmethod
        def can_generate(cls) -> bool:
            return False

    def said(model: Any) -> str:
        try:
            return str(model._validate_model_class())
        except TypeError as error:
            return str(error)

    return {"able": words(said(Able())), "unable": words(said(Unable()))}
