"""The proof: what each process gets of data sets of several lengths."""

import torch

from hotfix.names.sequential_sampler_removed import FIX
from hotfix.proofs.names.asking import ask, same_when_pickled, words
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name '", oracles={"*": "4.57.6"})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Indices by process, with and without a size of the batch."""
    import warnings

    restored = ask(target)
    results = {"called": words(restored.__module__, restored.__name__), "pickled": same_when_pickled(restored)}
    if target.qualname != "SequentialDistributedSampler":
        return results
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for length, processes, size in ((10, 3, None), (10, 3, 2), (4, 2, 2), (5, 1, None), (7, 4, 1)):
            samplers = [restored(range(length), processes, rank, size) for rank in range(processes)]
            results[f"{length} {processes} {size}"] = torch.tensor([[*sampler, len(sampler)] for sampler in samplers])
    return results
