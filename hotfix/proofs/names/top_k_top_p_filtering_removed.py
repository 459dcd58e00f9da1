"""The proof: the filters that people ask for."""

import torch

from hotfix.names.top_k_top_p_filtering_removed import FIX
from hotfix.proofs.names.asking import ask, listed, same_when_pickled
from hotfix.proofs.testbed import Target, Testbed


@FIX.case(raises="ImportError: cannot import name 'top_k_top_p_filtering'", tolerance={"float32": 0.0})
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Filter the same logits in several ways."""
    filtering = ask(target)
    logits = testbed.randn(3, 17, seed=1) * 3
    return {
        "listed": listed(target),
        "pickled": same_when_pickled(filtering),
        "all": filtering(logits.clone()),
        "k": filtering(logits.clone(), 5),
        "p": filtering(logits.clone(), top_p=0.6),
        "both": filtering(logits.clone(), top_k=8, top_p=0.5, filter_value=-100.0),
        "at least": filtering(logits.clone(), top_k=1, top_p=0.01, min_tokens_to_keep=4),
        "none": filtering(logits.clone(), top_k=3, top_p=2.0),
        "many": filtering(logits.clone(), 99, 0.0),
    }
