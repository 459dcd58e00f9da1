"""The proof: a stored token is read, written, and taken away."""

from typing import Any

import torch

from hotfix.names.private_special_tokens_removed import FIX, SEVERAL
from hotfix.proofs.names.asking import remote, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="AttributeError: .* has no attribute _\\w+_special_tokens|_\\w+_token", oracles={"*": "4.46.3"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What is stored, and what the public name gives after each assignment."""
    from tokenizers import Tokenizer, models
    from transformers import AddedToken, PreTrainedTokenizerFast

    name = target.qualname.rpartition(".")[2]
    core = Tokenizer(models.WordLevel({word: number for number, word in enumerate(("<s>", "</s>", "<unk>", "<a>"))}))
    mark = AddedToken("<a>", lstrip=True, special=True)
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<s>", eos_token=mark, cls_token="</s>", additional_special_tokens=["<a>"]
    )
    read = remote(f"def read(tokenizer):\n    return tokenizer.{name}\n")["read"]
    if name == SEVERAL:
        read(tokenizer).append("<unk>")
        appended = list(read(tokenizer))
        setattr(tokenizer, name, ["</s>"])
        return {"appended": words(*appended), "written": words(*read(tokenizer))}
    public = name[1:]
    results = {"stored": words(repr(read(tokenizer)), str(getattr(tokenizer, public)))}
    for value in ("</s>", None):
        setattr(tokenizer, name, value)
        answers = (read(tokenizer), getattr(tokenizer, public), getattr(tokenizer, f"{public}_id"))
        results[f"with {value}"] = words(*map(str, answers))
    return results
