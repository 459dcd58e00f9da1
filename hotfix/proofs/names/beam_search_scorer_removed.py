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

    restored = ask(target)
    if isinstance(restored, ModuleType):
        names = ("BeamScorer", "BeamSearchScorer", "ConstrainedBeamSearchScorer", "BeamHypotheses")
        if target.qualname == "beam_constraints":
            names = ("Constraint", "PhrasalConstraint", "DisjunctiveConstraint", "ConstraintListState")
        return {
            "known": torch.tensor(sys.modules[restored.__name__] is restored),
            "called": words(restored.__name__, *(getattr(restored, name).__name__ for name in names)),
        }
    results = {
        "pickled": same_when_pickled(restored),
        "called": words(restored.__name__, restored.__module__),
        "ancestors": words(*(cls.__name__ for cls in restored.__mro__)),
    }
    if restored.__name__ == "BeamScorer":
        heir = type("Heir", (restored,), {"process": lambda self: 1, "finalize": lambda self: 2})
        results["heir"] = torch.tensor([isabstract(restored), heir().process() == 1, heir().finalize() == 2])
    return results
