"""The helpers of BERT-like models are gone from ``transformers.modeling_utils``.

Symptom   ``ImportError: cannot import name 'apply_chunking_to_forward' from 'transformers.modeling_utils'``, or
          ``'find_pruneable_heads_and_indices'`` or ``'prune_linear_layer'``, from research code that contains
          a copy of BERT, BLIP or a Q-Former.
Cause     ``modeling_utils`` no longer imports what it did not use itself; 5.0.0 removed the pruning of heads.
Releases  4.56.0 and later; from ``transformers.pytorch_utils`` 5.0.0 and later
Upstream  not put back
Here      Names for what ``pytorch_utils`` still has, and the pruning helpers as they were in 4.57.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Callable, Optional

from hotfix.fix import Fix

FIX = Fix(
    title="ImportError: cannot import name 'apply_chunking_to_forward' from 'transformers.modeling_utils'",
    kind="removed-api",
    group="removed-names",
)

MODELING, HOME = "transformers.modeling_utils", "transformers.pytorch_utils"
MOVED, REMOVED = ">=4.56.0", ">=5.0.0"


def _moved(name: str) -> None:
    """A name that `modeling_utils` had imported from `pytorch_utils`."""

    @FIX.adds_made((f"{MODELING}:{name}", MOVED))
    def original(modeling_utils: Any) -> Any:
        from importlib import import_module

        return getattr(import_module(HOME), name)


for _name in ("apply_chunking_to_forward", "prune_linear_layer", "Conv1D"):
    _moved(_name)


@FIX.adds_made((f"{HOME}:find_pruneable_heads_and_indices", REMOVED), exported_by=((MODELING, MOVED),))
def find_pruneable_heads_and_indices(pytorch_utils: Any) -> Callable[..., Any]:
    """The heads that remain to be pruned, and the outputs of the projections that stay."""

    def find_pruneable_heads_and_indices(
        heads: Iterable[int], n_heads: int, head_size: int, already_pruned_heads: set[int]
    ) -> tuple[set[int], Any]:
        """Translate original head numbers to the heads that the layer has now.

        Args:
            heads: those to prune, by their original numbers.
            n_heads: the number of heads now.
            head_size: the number of outputs of each.
            already_pruned_heads: those pruned earlier, by their original numbers.

        Returns:
            The heads not yet pruned, and the indices of the outputs of all others: int64, ascending.
        """
        torch = pytorch_utils.torch
        going = set(heads) - already_pruned_heads
        now = {head - sum(gone < head for gone in already_pruned_heads) for head in going}
        stays = torch.tensor([head not in now for head in range(n_heads)], dtype=torch.bool)
        return going, stays.repeat_interleave(head_size).nonzero().flatten()

    return find_pruneable_heads_and_indices


@FIX.adds_made((f"{HOME}:prune_conv1d_layer", REMOVED), exported_by=((MODELING, MOVED),))
def prune_conv1d_layer(pytorch_utils: Any) -> Callable[..., Any]:
    """Keep some inputs or outputs of a `Conv1D`."""

    def prune_conv1d_layer(layer: Any, index: Any, dim: int = 1) -> Any:
        torch = pytorch_utils.torch
        index = index.to(layer.weight.device)
        weight = layer.weight.detach().index_select(dim, index)
        bias = layer.bias.detach().clone() if dim == 0 else layer.bias.detach()[index]
        inputs, outputs = weight.shape
        pruned = pytorch_utils.Conv1D(outputs, inputs).to(weight.device)
        with torch.no_grad():
            pruned.weight.copy_(weight)
            pruned.bias.copy_(bias)
        return pruned

    return prune_conv1d_layer


@FIX.adds_made((f"{HOME}:prune_layer", REMOVED), exported_by=((MODELING, MOVED),))
def prune_layer(pytorch_utils: Any) -> Callable[..., Any]:
    """Either of the two, by the kind of the layer."""

    def prune_layer(layer: Any, index: Any, dim: Optional[int] = None) -> Any:
        if isinstance(layer, pytorch_utils.nn.Linear):
            prune, outputs = pytorch_utils.prune_linear_layer, 0
        elif isinstance(layer, pytorch_utils.Conv1D):
            prune, outputs = pytorch_utils.prune_conv1d_layer, 1
        else:
            raise ValueError(f"{type(layer)} is neither Linear nor Conv1D: it cannot be pruned")
        return prune(layer, index, outputs if dim is None else dim)

    return prune_layer
