"""The proof: decoded text is cleaned by a tokenizer."""

from typing import Any

import torch

from hotfix.names.clean_up_tokenization_missing import FIX
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .*clean_up_tokenization")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Call it from a subclass, as remote tokenizers do."""
    from transformers import PreTrainedTokenizerBase

    class Remote(PreTrainedTokenizerBase):
        def __init__(self) -> None:
            """A tokenizer without a vocabulary."""

        def decoded(self, text: str) -> Any:
            return self.clean_up_tokenization(text)

    texts = [f"I do n't{end} you 've , they 're ' so ' , he 's  . 'm ? !" for end in ("", " .", " ,.", " n't 's")]
    return {"cleaned": words(*(Remote().decoded(text) for text in texts))}
