"""``isin_mps_friendly`` and ``_tie_or_clone_weights`` are gone.

Symptom   ``ImportError: cannot import name 'isin_mps_friendly' from 'transformers.pytorch_utils'`` (Coqui XTTS and
          others with a copy of ``generate``), or ``AttributeError: ... has no attribute '_tie_or_clone_weights'``
          from remote code that ties its own weights.
Cause     The first was for torch before 2.4; weights are tied by a table of names since 5.0.0.
Releases  ``isin_mps_friendly`` 5.1.0 to 5.23.0; ``_tie_or_clone_weights`` 5.0.0 to 5.23.0
Upstream  not put back
Here      Both as in 4.57.6, for the torch that 5.x requires, and without the hooks of 4.x for tensor parallelism.
          ``download_url``, which went with them, is not given back: it downloads.
"""

from __future__ import annotations

from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    id="v5-small-names-removed",
    title="ImportError: cannot import name 'isin_mps_friendly' from 'transformers.pytorch_utils'",
    kind="removed-api",
    optin=True,
    group="removed-names",
)


@FIX.adds_made(("transformers.pytorch_utils:isin_mps_friendly", ">=5.1.0"))
def made(pytorch_utils: Any) -> Callable[..., Any]:
    """What `torch.isin` does, which takes a number as well."""

    def isin_mps_friendly(elements: Any, test_elements: Any) -> Any:
        return pytorch_utils.torch.isin(elements, test_elements)

    return isin_mps_friendly


@FIX.adds(("transformers.modeling_utils:PreTrainedModel._tie_or_clone_weights", ">=5.0.0"))
def _tie_or_clone_weights(self: Any, output_embeddings: Any, input_embeddings: Any) -> None:
    """Have two layers share a weight; a bias is filled up with zeros to its length."""
    from torch import nn

    weight = input_embeddings.weight
    output_embeddings.weight = nn.Parameter(weight.clone()) if getattr(self.config, "torchscript", False) else weight
    bias = getattr(output_embeddings, "bias", None)
    if bias is not None:
        more = output_embeddings.weight.shape[0] - bias.shape[0]
        bias.data = nn.functional.pad(bias.data, (0, more), "constant", 0)
    if hasattr(output_embeddings, "out_features") and hasattr(input_embeddings, "num_embeddings"):
        output_embeddings.out_features = input_embeddings.num_embeddings
