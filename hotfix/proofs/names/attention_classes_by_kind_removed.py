"""The proof: a file imports the class, and asks whether a layer is one."""

import torch

from hotfix.names.attention_classes_by_kind_removed import FIX
from hotfix.proofs.names.asking import ask, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Its class, and that it can be imported."""
    from transformers.models.whisper.modeling_whisper import WhisperAttention

    restored = ask(target)
    layer = WhisperAttention(8, 2)
    facts = [issubclass(restored, WhisperAttention), isinstance(layer, restored)]
    return {"facts": torch.tensor(facts), "called": words(restored.__name__, restored.__module__)}
