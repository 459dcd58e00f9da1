"""The proof: a file imports a table, a class or a text, in the manner of FlagEmbedding, and looks what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotfix.names.model_attention_classes_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled, words

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """The keys of a table; what a class inherits from; that a text can stand before the docstring of a class."""
    import torch

    found = ask(target)
    if isinstance(found, type):
        heir = type("Heir", (found,), {})
        heir.forward = lambda self: 3  # type: ignore[attr-defined]  # its own class can be changed
        return {
            "listed": listed(target),
            "pickled": same_when_pickled(found),
            "inherits": words(*(one.__name__ for one in found.__mro__ if one.__name__.endswith("Attention"))),
            "heir": torch.tensor([issubclass(heir, torch.nn.Module), heir.forward(None) == 3]),  # type: ignore[attr-defined]
            "called": words(found.__name__, found.__module__),
        }
    if target.qualname.endswith("_DOCSTRING"):
        documented = "".join(["Ours. ", found, "More."])
        ends = [documented.startswith("Ours. "), documented.endswith("More."), isinstance(found, str)]
        return {"listed": listed(target), "text": torch.tensor(ends)}
    return {
        "listed": listed(target),
        "keys": words(*found),
        "kinds": torch.tensor([isinstance(found, dict), len(found) == 3, "sdpa" in found, "flex" in found]),
    }
