"""Models whose ``_tied_weights_keys`` is a list, as it had to be before 5.0.0, cannot be built, loaded or saved.

Symptom   ``AttributeError: 'list' object has no attribute 'keys'`` from ``post_init()`` and ``save_pretrained()`` where
          ``config.tie_word_embeddings`` is true.
Cause     The attribute became a mapping from the name of a tied weight to that of its source.
Releases  5.0.0 and later
Upstream  not repaired
Here      A list has its meaning of 4.57.6: the head's weight is that of the input embeddings. Other names in the list
          must already be the embeddings, as in modules that share them; any other name raises a ValueError, since a
          list does not name its source. So does saving a model that is not tied only because its configuration has no
          default for ``tie_word_embeddings`` any more.
"""

from __future__ import annotations

import re
from typing import Any

from hotfix.fix import Fix

FIX = Fix(
    title="AttributeError: 'list' object has no attribute 'keys', of _tied_weights_keys in code for 4.x",
    kind="removed-api",
    group="removed-names",
    errors=("AttributeError: 'list' object has no attribute 'keys'",),
    on_error=("AttributeError: …object has no attribute 'keys'",),
)

MODULE = "transformers.modeling_utils"

FIX.edits(
    (f"{MODULE}:PreTrainedModel.get_expanded_tied_weights_keys", ">=5.0.0"),
    old="tied_mapping = self._tied_weights_keys",
    new=f"""
        from {__name__} import as_mapping
        tied_mapping = as_mapping(self)
    """,
)
FIX.edits(
    (f"{MODULE}:_get_tied_weight_keys", ">=5.0.0"),
    old="tied = getattr(submodule, '_tied_weights_keys', {}) or {}",
    new=f"""
        from {__name__} import as_names
        tied = as_names(submodule, getattr(submodule, '_tied_weights_keys', {{}}) or {{}})
    """,
    beside="tied.keys()",
)


def as_names(model: Any, tied: Any) -> Any:
    """The tied weights of a model as a mapping that has their names.

    Args:
        model: a module.
        tied: its ``_tied_weights_keys``.

    Raises:
        ValueError: they are not tied, and only because this release has no default for ``tie_word_embeddings``.
    """
    if isinstance(tied, dict):
        return tied
    has_embeddings = hasattr(model, "get_output_embeddings") and hasattr(model, "config")
    if has_embeddings and not hasattr(model.config, "tie_word_embeddings"):
        head, embeddings = model.get_output_embeddings(), model.get_input_embeddings()
        if head is not None and head.weight is not embeddings.weight:
            raise ValueError(
                f"{type(model).__name__} is not tied, as up to 4.57.6, because {type(model.config).__name__} has "
                "no tie_word_embeddings any more. Set it in the configuration, to True or to False."
            )
    return dict.fromkeys(tied)


def as_mapping(model: Any) -> Any:
    """The ``_tied_weights_keys`` of a model, a list of them as a mapping.

    Args:
        model: a `PreTrainedModel`.

    Raises:
        ValueError: a name in the list is neither the head nor the embeddings.
    """
    keys = model._tied_weights_keys
    if not isinstance(keys, (list, tuple, set)) or not getattr(model.config, "tie_word_embeddings", False):
        return keys if keys is None or isinstance(keys, dict) else {}
    named = dict(model.named_parameters(remove_duplicate=False))
    embeddings = getattr(model.get_input_embeddings(), "weight", None)
    head = getattr(model.get_output_embeddings(), "weight", None)
    source = next((name for name, weight in named.items() if weight is embeddings), None)
    mapping = {}
    for name, parameter in named.items():
        if name == source or not any(re.search(pattern, name) for pattern in keys):
            continue
        if source is None or (parameter is not head and parameter is not embeddings):
            raise ValueError(
                f"{type(model).__name__}._tied_weights_keys is a list that has {name}, which is neither the head nor "
                'the input embeddings. Say what it is tied to, as {"name of the tied": "name of the source"}.'
            )
        mapping[name] = source
    return mapping
