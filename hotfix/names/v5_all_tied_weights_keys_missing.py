"""Models that never call ``post_init()`` cannot be loaded or saved.

Symptom   ``AttributeError: 'Tiny' object has no attribute 'all_tied_weights_keys'`` from ``from_pretrained()``.
Cause     ``post_init()``, which much remote code never calls, sets the attribute; the end of loading reads it.
Releases  5.0.0 and later
Upstream  one place reads it with a default since 5.5.1; the others do not
Here      It is computed for the whole model once ``from_pretrained()`` has built it, as in ``post_init()``. An empty
          default would lose the tie between a head and its embeddings.
"""

from __future__ import annotations

from typing import Any

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="AttributeError: 'Tiny' object has no attribute 'all_tied_weights_keys'",
    kind="removed-api",
    group="removed-names",
    everyone="only a model without the attribute, at which from_pretrained() of these releases ends",
    errors=("AttributeError: '…' object has no attribute 'all_tied_weights_keys'",),
)

FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.from_pretrained", ">=5.0.0"),
    old="model = cls(config, *model_args, **model_kwargs)",
    new=f"""
        model = cls(config, *model_args, **model_kwargs)
        from {__name__} import work_out
        work_out(model)
    """,
    beside='dtype = "auto"',  # what 5.0.0 brought along; before it there was nothing to work out
)


def work_out(model: Any) -> None:
    """Give a model the sources of its tied weights by name, unless it has them or the program does without."""
    if not hasattr(model, "all_tied_weights_keys") and overrides.would_end(AttributeError):
        model.all_tied_weights_keys = model.get_expanded_tied_weights_keys(all_submodels=True)
