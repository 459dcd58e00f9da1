"""Vision-language models are saved under names that hardly any release can read.

Symptom   Silent. What ``save_pretrained`` writes of LLaVA, Gemma 3, Mistral 3 and others has the names of the Hub with
          ``model.`` before most of them (``model.language_model.model.…``). vLLM, llama.cpp, 4.x and 5.0 to 5.8 but 5.4
          and 5.5 load the file with a language model of random weights. Qwen2-VL has ``model.visual.…`` for
          ``visual.…``, which transformers before 4.52 does not find.
Cause     The renaming of these models has become one of a part of the name: when it is undone, what stands before that
          part stays.
Releases  5.4.0 to 5.5.4
Upstream  fixed in 5.6.0
Here      ``model.`` is taken off again. The names are those that 5.3.0 writes; 5.4 and 5.5 read them as before. A class
          of your own, whose modules may be called so, is saved as before.
"""

from __future__ import annotations

import ast
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.loading._reading import is_of_the_library
from hotfix.pattern import occurs

FIX = Fix(
    title="Vision-language models are saved under names that most releases and other programs cannot load",
    kind="silent",
    everyone="only for models whose class is the library's own: the new code tests it itself",
    fixed_in="5.6.0",
    prefilter="def process_source_pattern",
)

REVERT = "revert_weight_conversion"
MIXED = ("model.language_model.model.", "model.text_model.model.")
"""Beginnings of names that are of no layout."""


@FIX.wraps((f"transformers.core_model_loading:{REVERT}", ">=5.4.0,<=5.5.4"), fingerprint_of=(REVERT, "WeightTransform"))
def with_names_of_the_hub(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that gives the weights the names under which they are saved."""

    def revert_weight_conversion(model: Any, *args: Any, **kwargs: Any) -> Any:
        weights = original(model, *args, **kwargs)
        prefix = ""
        own = args[0] if args else kwargs.get("state_dict", weights)
        if not is_of_the_library(type(model)) or any(name.startswith(MIXED) for name in own):
            return weights
        if any(name.startswith(MIXED) for name in weights):
            prefix = "model."
        elif getattr(model.config, "model_type", "") in ("qwen2_vl", "qwen2_5_vl"):
            prefix = "model.visual."
        if not prefix:
            return weights
        return {name[len("model.") :] if name.startswith(prefix) else name: one for name, one in weights.items()}

    return revert_weight_conversion


@FIX.recognises
def is_broken(function: ast.AST, *more: ast.AST) -> bool:
    """It undoes renamings of a part of a name: before 5.4 these are of its beginning, since 5.6 they say so."""
    return not occurs("PrefixChange", function) and occurs("process_source_pattern", *more)
