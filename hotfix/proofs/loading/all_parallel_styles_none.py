"""A Llama is made as with torch 2.4, where there is no table of parallel styles, and with the torch that is there."""

from importlib import import_module
from typing import Any

import torch

from hotfix.loading.all_parallel_styles_none import FIX
from hotfix.proofs.testbed import Target, Testbed
from hotfix.proofs.zoo import small_llama


@FIX.case(raises="TypeError: argument of type 'NoneType' is not iterable")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits; first without the table, and with the answers to questions for the version that torch 2.4 gives."""
    from packaging.version import Version

    utils: Any = import_module("transformers.modeling_utils")
    ids = testbed.randint(0, 32, 1, 7)
    own = {name: vars(utils)[name] for name in ("ALL_PARALLEL_STYLES", "is_torch_greater_or_equal")}
    results = {}
    try:
        utils.ALL_PARALLEL_STYLES = None
        utils.is_torch_greater_or_equal = lambda version, **how: Version(version) <= Version("2.4.1")
        results["torch 2.4"] = small_llama(testbed).to(testbed.device)(ids).logits
    finally:
        vars(utils).update(own)
    results["torch of today"] = small_llama(testbed).to(testbed.device)(ids).logits
    return results
