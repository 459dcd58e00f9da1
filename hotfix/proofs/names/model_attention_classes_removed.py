"""The proof: a file imports a table or a text, in the manner of FlagEmbedding, and looks what kinds there are."""

import torch

from hotfix.names.model_attention_classes_removed import FIX
from hotfix.proofs.names.asking import ask, listed, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The keys of a table; that a text is a string, and can precede the docstring of a class."""
    restored = ask(target)
    if target.qualname.endswith("_DOCSTRING"):
        documented = "".join(["Ours. ", restored, "More."])
        ends = [documented.startswith("Ours. "), documented.endswith("More."), isinstance(restored, str)]
        return {"listed": listed(target), "text": torch.tensor(ends)}
    return {
        "listed": listed(target),
        "keys": words(*restored),
        "kinds": torch.tensor([isinstance(restored, dict), len(restored) == 3, "sdpa" in restored, "flex" in restored]),
    }
