"""Models that never call ``post_init()`` cannot be built, loaded or saved.

Symptom   ``AttributeError: 'Tiny' object has no attribute 'all_tied_weights_keys'`` from ``from_pretrained()``, or from
          ``self.init_weights()`` in the constructor of a model written for 4.0 and before.
Cause     ``post_init()``, which much code never calls, sets the attribute; ``init_weights()`` and the end of loading
          read it.
Releases  5.0.0 and later
Upstream  one place reads it with a default since 5.5.1; the others do not
Here      It is computed for the whole model once ``from_pretrained()`` has built it, as in ``post_init()``, and by
          ``init_weights()`` for the modules that are there. An empty default would lose the tie between a head and its
          embeddings.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from hotfix.fix import Fix
from hotfix.names import overrides

FIX = Fix(
    title="AttributeError: 'Tiny' object has no attribute 'all_tied_weights_keys'",
    kind="removed-api",
    group="removed-names",
    everyone="only a model without the attribute, at which these functions end",
    exempt={
        "transformers.distributed.mixin:DistributedMixin._load_and_finalize_distributed_pretrained_model": (
            "from_pretrained has worked it out before"
        ),
    },
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


FIX.edits(
    ("transformers.modeling_utils:PreTrainedModel.init_weights", ">=5.0.0"),
    old="self.tie_weights(recompute_mapping=False)",
    new=f"""
        from {__name__} import has_tied, refresh
        refresh(self)
        try:
            self.tie_weights(recompute_mapping=False)
        except AttributeError as _hotfix_error:
            if not has_tied(self, _hotfix_error):
                raise
    """,
)

_KEYS = "all_tied_weights_keys"
_of_a_part: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""What a model got that may have received modules since."""


def work_out(model: Any) -> None:
    """Give a model the sources of its tied weights by name, unless it has them or the program does without."""
    refresh(model)
    if getattr(model, _KEYS, None) is None and overrides.would_end(AttributeError):
        _give(model)


def refresh(model: Any) -> None:
    """Recompute what a model got here, if it did."""
    known = getattr(model, _KEYS, None)
    if known is not None and known is _of_a_part.get(model):
        _give(model)


def has_tied(model: Any, error: AttributeError) -> bool:
    """Whether an error was about the missing attribute, which the model has now, and its weights are tied.

    Args:
        model: the model.
        error: of its `tie_weights`.
    """
    is_about_it = f"no attribute '{_KEYS}'" in str(error) and getattr(model, _KEYS, None) is None
    if not is_about_it or not overrides.would_end(AttributeError) or not _give(model):
        return False
    how = {"recompute_mapping": False} if overrides.takes(model.tie_weights, "recompute_mapping") else {}
    model.tie_weights(**how)
    return True


def _give(model: Any) -> bool:
    try:
        keys = model.get_expanded_tied_weights_keys(all_submodels=True)
    except Exception:  # the release's own error, about what is missing, says more
        return False
    model.all_tied_weights_keys = _of_a_part[model] = keys
    return True
