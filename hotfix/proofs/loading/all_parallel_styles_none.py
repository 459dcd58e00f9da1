"""A Llama is made as with torch 2.4, where there is no table of parallel styles, and with it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hotfix.loading.all_parallel_styles_none import FIX
from hotfix.proofs.zoo import small_llama

if TYPE_CHECKING:
    import torch

    from hotfix.fix import Target
    from hotfix.proofs.testbed import Testbed


@FIX.case(raises="TypeError: argument of type 'NoneType' is not iterable")
def case(testbed: Testbed, target: Target) -> dict[str, torch.Tensor]:
    """Logits; the table is taken away first, as torch 2.4 would have it, and then it is there again."""
    utils: Any = import_module("transformers.modeling_utils")
    ids = testbed.randint(0, 32, 1, 7)
    table, results = utils.ALL_PARALLEL_STYLES, {}
    # Later releases have it with every torch.
    is_optional = "is_torch_greater_or_equal" in vars(import_module("transformers.integrations.tensor_parallel"))
    try:
        utils.ALL_PARALLEL_STYLES = None if is_optional else table
        results["without"] = small_llama(testbed).to(testbed.device)(ids).logits
    finally:
        utils.ALL_PARALLEL_STYLES = table
    results["with"] = small_llama(testbed).to(testbed.device)(ids).logits
    return results
