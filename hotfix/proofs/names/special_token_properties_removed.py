"""The proof: each token past ``__getattr__``, and behind the empty properties of a protocol."""

from typing import Any, Protocol

import torch

from hotfix.names.special_token_properties_removed import FIX, TOKENS
from hotfix.proofs.names.asking import words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .* object has no attribute '\\w+_token", oracles={"*": "4.46.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask tokenizers for a token that they have or lack."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    name = target.qualname.rpartition(".")[2]
    stubs = {token: property(lambda self: None) for token in TOKENS}
    declared = type("Declared", (Protocol,), {"__module__": __name__, **stubs})

    class Tested(PreTrainedTokenizerFast):
        def held(self) -> object:
            return getattr(super(), name)

    class Declaring(PreTrainedTokenizerFast, declared):  # type: ignore[misc, valid-type]
        pass

    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(("<s>", "</s>", "<unk>", "<a>"))}))
    given = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "cls_token": "<a>",
    }
    results = {}
    for step, cls in ("tested", Tested), ("declaring", Declaring):
        tokenizer: Any = cls(tokenizer_object=core, **given)
        tokenizer.pad_token = "</s>"
        answers = [tokenizer.__getattribute__(name), getattr(tokenizer, name)]
        answers += [tokenizer.held()] if step == "tested" else []
        results[step] = words(*map(str, answers))
    return results
