"""The proof: each name is imported from the old module, and used."""

from typing import Any

import torch

from hotfix.names.tokenization_utils_names_removed import FIX, OF_ALL
from hotfix.proofs.names.asking import same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed

CHARACTERS = "a9 \t\n\u00a0\u2003\u0000\u200b.,!-_~$`\u00bf\u3002\u4e2d"


@FIX.case(raises="ImportError: cannot import name '", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Import one as a framework does."""
    from importlib import import_module

    name, namespace = target.qualname, dict[str, Any]()
    exec(f"from transformers.tokenization_utils import {name}", namespace)
    restored = namespace[name]
    if name in OF_ALL:
        of_base = getattr(import_module("transformers.tokenization_utils_base"), name)
        return {"one": torch.tensor(restored is of_base), "called": words(getattr(restored, "__name__", "a text"))}
    if name == "Trie":
        trie = restored()
        for word in ("[CLS]", "extra_id_1", "extra_id_100"):
            trie.add(word)
        return {"parts": words(*trie.split("[CLS] This is a extra_id_100")), "pickled": same_when_pickled(restored)}
    return {
        "told": torch.tensor([bool(restored(character)) for character in CHARACTERS]),
        "pickled": same_when_pickled(restored),
    }
