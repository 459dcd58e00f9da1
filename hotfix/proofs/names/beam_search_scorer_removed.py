"""The proof: the names can be imported and inherited from; BeamScorer works."""

import torch

from hotfix.names.beam_search_scorer_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Ask for the name, and write a scorer."""
    import sys
    from inspect import isabstract
    from types import ModuleType

    found = ask(target)
    if isinstance(found, ModuleType):
        names = ("BeamScorer", "BeamSearchScorer", "ConstrainedBeamSearchScorer", "BeamHypotheses")
        if target.qualname == "beam_constraints":
            names = ("Constraint", "PhrasalConstraint", "DisjunctiveConstraint", "ConstraintListState")
        return {
            "known": torch.tensor(sys.modules[found.__name__] is found),
            "called": words(found.__name__, *(getattr(found, name).__name__ for name in names)),
        }
    results = {
        "pickled": same_when_pickled(found),
        "called": words(found.__name__, found.__module__),
        "ancestors": words(*(one.__name__ for one in found.__mro__)),
    }
    if found.__name__ == "BeamScorer":
        heir = type("Heir", (found,), {"process": lambda self: 1, "finalize": lambda self: 2})
        results["heir"] = torch.tensor([isabstract(found), heir().process() == 1, heir().finalize() == 2])
    return results
