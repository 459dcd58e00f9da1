"""Models that never call ``post_init()`` cannot be loaded or saved.

Symptom   ``AttributeError: 'Tiny' object has no attribute 'all_tied_weights_keys'`` from ``from_pretrained()``.
Cause     The attribute is set by ``post_init()``, which much remote code never calls, and is read at the end of
          loading.
Releases  5.0.0 and later
Upstream  one of the places asks for it with a default since 5.5.1; the rest do not
Here      It is worked out when ``from_pretrained()`` has built such a model, of the whole of it, as ``post_init()``
          does. No empty default: that would lose the tie between a head and its embeddings.
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
