"""Arguments of ``from_pretrained`` in the words of other releases."""

from __future__ import annotations

import inspect
import types
from collections.abc import Mapping
from typing import Any, Callable, Optional

from hotfix.fix import Fix
from hotfix.patching import scope

MODEL = "transformers.modeling_utils:PreTrainedModel"
UNKNOWN = "TypeError: …__init__() got an unexpected keyword argument '{}'"
TENSORFLOW = {
    "transformers.modeling_flax_utils:FlaxPreTrainedModel._from_config": "Flax",
    "transformers.modeling_tf_utils:TFPreTrainedModel._from_config": "TensorFlow",
    "transformers.modeling_tf_utils:TFPreTrainedModel.from_pretrained": "TensorFlow",
}

Neutral = Mapping[str, tuple[Any, ...]]
"""Values of arguments that change nothing."""
Translations = Mapping[str, Callable[[dict[str, Any]], bool]]
"""Functions that translate an argument in place; False if the release has no words for it."""


def in_words_of_the_release(fix: Fix, neutral: Neutral, translations: Translations) -> Callable[..., Any]:
    """A wrapper of a function that makes a model: after a TypeError it repeats the call in the release's words.

    What the function does not know goes to the constructor of the model, which raises the error.

    Args:
        fix: the fix that declares the error.
        neutral: arguments that are left out if they have one of these values.
        translations: arguments that have other names in the release.
    """

    def decorate(original: Callable[..., Any]) -> Callable[..., Any]:
        known = _taken_by(inspect.unwrap(original).__code__)

        def from_pretrained(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            except TypeError as _hotfix_error:  # two fixes are around one function: this handler is not the program's
                error = _hotfix_error
                if "__init__() got an unexpected keyword" not in str(error):
                    raise
                words = _translated(kwargs, known, neutral, translations)
                if words is None or not scope.is_declared(error, fix.id, fix.errors):
                    raise
                if scope.is_handled_around(fix.id, TypeError):  # around an Auto class
                    raise
            return original(*args, **words)

        return from_pretrained

    return decorate


def _translated(
    kwargs: dict[str, Any], known: frozenset[str], neutral: Neutral, translations: Translations
) -> Optional[dict[str, Any]]:
    """The arguments in the words of the release; None if it has none for them, or they are its words."""
    made = {
        name: value
        for name, value in kwargs.items()
        if name in known or not any(value is nothing for nothing in neutral.get(name, ()))
    }
    for name, translate in translations.items():
        if name in made and name not in known and not translate(made):
            return None
    return made if made.keys() != kwargs.keys() else None


def _taken_by(code: types.CodeType) -> frozenset[str]:
    """The names that a function can take out of its ``**kwargs``: its constants, and its variables."""
    known = {*code.co_varnames}
    for constant in code.co_consts:
        several = constant if isinstance(constant, tuple) else (constant,)
        known.update(name for name in several if isinstance(name, str))
    if "dtype" not in code.co_varnames:
        known.discard("dtype")  # the key of something else
    return frozenset(known)
