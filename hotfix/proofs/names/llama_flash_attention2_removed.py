"""The proof: the import, and a custom table."""

import torch

from hotfix.names.llama_flash_attention2_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Put the class into a table, as remote code does, and use another one of it."""
    from transformers.models.llama.modeling_llama import LlamaAttention

    cls = ask(target)
    table = {"mha_eager": LlamaAttention, "mha_flash_attention_2": cls}
    return {
        "pickled": same_when_pickled(cls),
        "inherits": torch.tensor(issubclass(table["mha_flash_attention_2"], table["mha_eager"])),
        "heir": torch.tensor(issubclass(type("Heir", (cls,), {}), torch.nn.Module)),
        "called": words(cls.__name__, cls.__module__),
    }
