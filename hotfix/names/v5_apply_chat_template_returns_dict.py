"""``apply_chat_template`` gives a dictionary where it gave token ids.

Symptom   ``KeyError: 'shape'``, ``Could not infer dtype of dict``, ``invalid literal for int() with base 10:
          'input_ids'``; silent where only the length is taken: 2, the number of keys, for the number of tokens of a
          prompt.
Cause     The default of ``return_dict`` was changed.
Releases  5.0.0 and later
Upstream  transformers#41626, transformers#42567, trl#4448, trl#4880 (by design)
Here      Off unless asked for, by id or by the group ``v4-defaults``. Then remote code and the program's own files get
          the ids, as in 4.57.6, unless they say ``return_dict``. Installed packages, transformers included, get what
          the release gives, since they were installed to fit it.
"""

from __future__ import annotations

import ast
import sys
import types
from inspect import signature
from pathlib import PurePath
from typing import Any, Callable

from hotfix.fix import Fix

FIX = Fix(
    title="apply_chat_template gives a dictionary where code for 4.x expects token ids",
    kind="removed-api",
    upstream=("transformers#41626", "transformers#42567", "trl#4448", "trl#4880"),
    optin="it puts a default of 4.x in the place of one of 5.x",
    group="v4-defaults",
    errors=(
        "KeyError: 'shape'",
        "TypeError: can not serialize 'BatchEncoding' object",
        "RuntimeError: Could not infer dtype of dict",
        "RuntimeError: Could not infer dtype of tokenizers.Encoding",
        "ValueError: invalid literal for int() with base 10: 'input_ids'",
    ),
    prefilter="def apply_chat_template",
    exempt={
        "transformers.tokenization_mistral_common:MistralCommonBackend.apply_chat_template": (
            "not covered: the package mistral-common would be needed to prove it"
        ),
    },
)


@FIX.wraps(("transformers.tokenization_utils_base:PreTrainedTokenizerBase.apply_chat_template", ">=5.0.0"))
def ids_for_old_callers(original: Callable[..., Any]) -> Callable[..., Any]:
    """Token ids, for code that says nothing."""
    place = list(signature(original).parameters).index("return_dict")

    def apply_chat_template(*args: Any, **kwargs: Any) -> Any:
        # The mask of the assistant's tokens needs a dictionary.
        says = len(args) > place or kwargs.get("return_assistant_tokens_mask") or "return_dict" in kwargs
        if not says and is_own(sys._getframe(1)):
            kwargs["return_dict"] = False
        return original(*args, **kwargs)

    return apply_chat_template


def is_own(caller: types.FrameType) -> bool:
    """Whether a caller is the program's own code, or remote code, and not of an installed package.

    Args:
        caller: its frame.
    """
    installed = {"site-packages", "dist-packages"}.intersection(PurePath(caller.f_code.co_filename).parts)
    return not installed and not str(caller.f_globals.get("__name__")).startswith("transformers.")


@FIX.recognises
def is_broken(function: ast.FunctionDef) -> bool:
    """A dictionary is the default, of tokenizers."""
    arguments = function.args
    defaults = dict(zip([argument.arg for argument in arguments.args][::-1], arguments.defaults[::-1]))
    default = defaults.get("return_dict")
    return function.name == "apply_chat_template" and isinstance(default, ast.Constant) and default.value is True
