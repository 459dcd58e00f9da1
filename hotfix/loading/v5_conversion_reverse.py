"""A weight of Gemma 3n is saved under a name that other programs do not know.

Symptom   Silent. A text model of Gemma 3n is saved with ``per_layer_model.language_model_projection`` in place of
          ``per_layer_model_projection``. Programs that read the names of the Hub, 5.5.2 and later included, initialize
          this weight at random.
Cause     The release replaces a piece of a name at each occurrence, not only where the pattern matches.
Releases  5.0.0 to 5.5.1
Upstream  transformers#45357, transformers#45358 (fixed in 5.5.2)
Here      A name for a file of Gemma 3n gets one replacement. Reading replaces all, as before, so that files of these
          releases can still be read. The names are those of 5.5.2. Other models, whose names these releases read as
          they write them, are saved as before.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Callable

from hotfix.fix import Fix

RELEASES = ">=5.0.0,<=5.5.1"
FIX = Fix(
    title="Gemma 3n is saved with per_layer_model.language_model_projection, which other programs cannot load",
    kind="silent",
    upstream=("transformers#45357", "transformers#45358"),
    fixed_in="5.5.2",
    everyone="only while a model of Gemma 3n is saved: the new code tests it",
)

_is_saving: ContextVar[bool] = ContextVar("_is_saving", default=False)


def how_often() -> int:
    """The number of replacements in a name: 1 while a file is saved, otherwise -1 for all."""
    return 1 if _is_saving.get() else -1


FIX.edits(
    ("transformers.core_model_loading:WeightTransform.rename_source_key", RELEASES),
    old="renamed_key = source_key.replace(match_object.group(0), replacement)",
    new="""
        from hotfix.loading.v5_conversion_reverse import how_often
        renamed_key = source_key.replace(match_object.group(0), replacement, how_often())
        """,
)


@FIX.accompanies("transformers.core_model_loading:revert_weight_conversion")
def while_it_saves(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that gives the weights the names under which they are saved."""

    def revert_weight_conversion(*args: Any, **kwargs: Any) -> Any:
        model = args[0] if args else kwargs.get("model")
        token = _is_saving.set(type(model).__module__.startswith("transformers.models.gemma3n."))
        try:
            return original(*args, **kwargs)
        finally:
            _is_saving.reset(token)

    return revert_weight_conversion
