"""The criterion stops two batches, alone and in a list, and is pickled."""

import torch

from hotfix.names.max_new_tokens_criteria_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'MaxNewTokensCriteria'")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """What it says about fewer tokens than allowed, and about as many; the length that a list of criteria knows."""
    import warnings

    from transformers import StoppingCriteriaList

    cls = ask(target)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of the old class
        criterion = cls(start_length=3, max_new_tokens=2)
    results = {}
    for length in (4, 5):
        ids, scores = testbed.randint(0, 8, 2, length), testbed.randn(2, 8)
        results[f"alone, {length}"] = criterion(ids, scores)
        results[f"in a list, {length}"] = StoppingCriteriaList([criterion])(ids, scores)
    lengths = [criterion.start_length, criterion.max_new_tokens, StoppingCriteriaList([criterion]).max_length]
    return {**results, "lengths": torch.tensor(lengths), "listed": listed(target), "pickled": same_when_pickled(cls)}
