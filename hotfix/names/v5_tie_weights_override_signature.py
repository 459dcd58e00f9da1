"""Overrides of ``tie_weights`` get arguments that they do not accept, and their helper is gone.

Symptom   ``TypeError: Tiny.tie_weights() got an unexpected keyword argument 'recompute_mapping'`` while a model is
          built or loaded, or ``AttributeError: 'Tiny' object has no attribute '_tie_or_clone_weights'``.
Cause     The method got two arguments, and the library passes them. The helper was removed.
Releases  5.0.0 and later
Upstream  not repaired
Here      An override is called by its own signature. Weights that it ties count as loaded, as with the release's own
          method. ``_tie_or_clone_weights`` ties the weight of a module to that of another, as in 4.57.6.
"""

from __future__ import annotations

from typing import Any, Optional

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="TypeError: tie_weights() got an unexpected keyword argument 'recompute_mapping', of an override for 4.x",
    kind="removed-api",
    group="removed-names",
    errors=(
        "TypeError: …tie_weights() got an unexpected keyword argument 'recompute_mapping'",
        "TypeError: …tie_weights() got an unexpected keyword argument 'missing_keys'",
        "AttributeError: '…' object has no attribute '_tie_or_clone_weights'",
    ),
)

MODEL = "transformers.modeling_utils:PreTrainedModel"

FIX.edits(
    (f"{MODEL}.init_weights", ">=5.0.0"),
    old="self.tie_weights(recompute_mapping=False)",
    new=f"""
        from {__name__} import tie
        tie(self, recompute_mapping=False)
    """,
    when=f"from {__name__} import takes_nothing; takes_nothing(self)",
)
FIX.edits(
    (f"{MODEL}._finalize_model_loading", ">=5.1.0"),
    (f"{MODEL}._finalize_load_state_dict", "==5.0.0"),
    old="model.tie_weights(missing_keys=__MISSING, recompute_mapping=False)",
    new=f"""
        from {__name__} import tie
        tie(model, missing_keys=__MISSING, recompute_mapping=False)
    """,
    when=f"from {__name__} import takes_nothing; takes_nothing(model)",
)


@FIX.adds((f"{MODEL}._tie_or_clone_weights", ">=5.0.0"))
def _tie_or_clone_weights(self: Any, output_embeddings: Any, input_embeddings: Any) -> None:
    """Give a head the weight of the embeddings, and its bias as many elements.

    Args:
        self: the model.
        output_embeddings: the head; its bias, if it has one, is filled up with zeros.
        input_embeddings: the embeddings.
    """
    import torch

    output_embeddings.weight = input_embeddings.weight
    bias = getattr(output_embeddings, "bias", None)
    if bias is not None:
        more = output_embeddings.weight.shape[0] - bias.shape[0]
        bias.data = torch.nn.functional.pad(bias.data, (0, more), "constant", 0)
    if hasattr(output_embeddings, "out_features") and hasattr(input_embeddings, "num_embeddings"):
        output_embeddings.out_features = input_embeddings.num_embeddings


def takes_nothing(model: Any) -> bool:
    """Whether a model's ``tie_weights`` cannot be given ``recompute_mapping``, and the program would crash at that."""
    return not overrides.takes(model.tie_weights, "recompute_mapping") and overrides.would_end(TypeError)


def tie(model: Any, recompute_mapping: bool, missing_keys: Optional[set[str]] = None) -> None:
    """Tie the weights of a model with a method without arguments.

    Args:
        model: a `PreTrainedModel`.
        recompute_mapping: passed by the release, unused.
        missing_keys: the weights that the checkpoint lacks; those tied to a loaded weight are removed.
    """
    model.tie_weights()
    if missing_keys:
        named = dict(model.named_parameters(remove_duplicate=False))
        loaded = {id(parameter) for name, parameter in named.items() if name not in missing_keys}
        missing_keys -= {name for name in missing_keys if id(named.get(name)) in loaded}
