"""Pipelines no longer take arguments that scripts have used for years.

Symptom   ``TypeError: TokenClassificationPipeline._sanitize_parameters() got an unexpected keyword argument
          'grouped_entities'``; the same of ``ignore_subwords``, and of ``framework`` for tokens and images.
          ``return_all_scores=True`` returns the best label alone.
Cause     ``aggregation_strategy`` and ``top_k`` took the place of the first two and of the last, and the other
          frameworks were removed.
Releases  5.0.0 and later
Upstream  by design (not put back)
Here      After the TypeError, the strategy that 4.57.6 chose for the two arguments; ``framework="pt"`` and None are
          left out, ``"tf"`` raises as before. Pipelines that take any argument lose ``framework`` without an error,
          and are left alone. The pipeline for texts loses ``return_all_scores`` without an error: with the opt-in, it
          returns the scores of 4.57.6, also for a configuration with that key.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix

_OLD = ("grouped_entities", "ignore_subwords")
_MESSAGE = "TypeError: {}_sanitize_parameters() got an unexpected keyword argument '{}'"

FIX = Fix(
    title="TypeError: TokenClassificationPipeline._sanitize_parameters() got an unexpected keyword argument"
    " 'grouped_entities'",
    kind="removed-api",
    group="removed-names",
    prefilter="binary_output",
    errors=(
        *(_MESSAGE.format("TokenClassificationPipeline.", name) for name in _OLD),
        _MESSAGE.format("…Pipeline.", "framework"),
    ),
    on_error=tuple(_MESSAGE.format("…", name) for name in (*_OLD, "framework")),  # Python 3.9 does not name the class
)

BASE = "transformers.pipelines.base:Pipeline.__init__"


@FIX.recognises
def knows_no_framework(function: ast.AST) -> bool:
    """The constructor of every pipeline, without the argument."""
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
        return False
    names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    return {"feature_extractor", "binary_output"} <= names and "framework" not in names


@FIX.wraps(
    ("transformers.pipelines.image_classification:ImageClassificationPipeline._sanitize_parameters", ">=5.0.0"),
    fingerprint_of=(BASE,),
)
def without_framework(original: Callable[..., Any]) -> Callable[..., Any]:
    """Leave out PyTorch."""

    def _sanitize_parameters(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("framework", "") in (None, "pt"):
            del kwargs["framework"]
        return original(self, *args, **kwargs)

    return _sanitize_parameters


@FIX.wraps(
    ("transformers.pipelines.token_classification:TokenClassificationPipeline._sanitize_parameters", ">=5.0.0"),
    fingerprint_of=(BASE,),
)
def by_strategy(original: Callable[..., Any]) -> Callable[..., Any]:
    """Translate how tokens are put together, and leave out PyTorch."""

    def _sanitize_parameters(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("framework", "") in (None, "pt"):
            del kwargs["framework"]
        grouped, whole_words = (kwargs.pop(name, None) for name in _OLD)
        if grouped is not None or whole_words is not None:
            kwargs["aggregation_strategy"] = ("first" if whole_words else "simple") if grouped else "none"
        return original(self, *args, **kwargs)

    return _sanitize_parameters


@FIX.wraps(
    ("transformers.pipelines.text_classification:TextClassificationPipeline._sanitize_parameters", ">=5.0.0"),
    fingerprint_of=(BASE,),
    on_error=False,
    own=("self",),
    optin="a program for 5.x that passes return_all_scores and reads the best label would get a list",
)
def all_scores(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return as many scores as in 4.57.6: ``top_k`` decides first, then the argument, then the configuration."""

    def _sanitize_parameters(self: Any, *args: Any, **kwargs: Any) -> Any:
        wants_all = kwargs.pop("return_all_scores", None)
        if wants_all is None:
            wants_all = getattr(self.model.config, "return_all_scores", None)
        reading, running, writing = original(self, *args, **kwargs)
        if wants_all is not None and "top_k" not in writing:
            writing["top_k"] = None if wants_all else 1
        return reading, running, writing

    return _sanitize_parameters
