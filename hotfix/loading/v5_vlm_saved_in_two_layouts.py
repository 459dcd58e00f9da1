"""Vision-language models are saved under names that few releases can read.

Symptom   Silent. ``save_pretrained`` of LLaVA, Gemma 3, Mistral 3 and others puts ``model.`` in front of most names of
          the Hub (``model.language_model.model.…``). vLLM, llama.cpp, 4.x and 5.0 to 5.8 except 5.4 and 5.5 load the
          file with a random language model. Qwen2-VL has ``model.visual.…`` for ``visual.…``, which transformers
          before 4.52 does not find.
Cause     These models now rename a part of each name. Undoing this keeps the prefix in front of that part.
Releases  5.4.0 to 5.5.4
Upstream  fixed in 5.6.0
Here      ``model.`` is removed again. The names are those that 5.3.0 writes; 5.4 and 5.5 read them as before. Saved as
          before are a class of your own, whose modules may have such names, a ``state_dict`` without the language
          model, which a program may read by the names of the model, and a ``checkpoint-500`` of the Trainer.
"""

from __future__ import annotations

import ast
import sys
from typing import Any, Callable

from hotfix.fix import Fix
from hotfix.loading._reading import is_of_the_library
from hotfix.loading.vlm_save_reverse_mapping import is_checkpoint_of_a_trainer
from hotfix.pattern import occurs

FIX = Fix(
    title="LLaVA, Gemma 3, Mistral 3 saved as model.language_model.model.*: vLLM and llama.cpp cannot load them",
    kind="silent",
    everyone="only for models whose class is the library's own: the new code tests it itself",
    fixed_in="5.6.0",
    prefilter="def process_source_pattern",
)

REVERT = "revert_weight_conversion"
MIXED = ("model.language_model.model.", "model.text_model.model.")
"""Prefixes that belong to no layout."""
_QWEN, _TEXT = ("qwen2_vl", "qwen2_5_vl"), "model.language_model."


@FIX.wraps((f"transformers.core_model_loading:{REVERT}", ">=5.4.0,<=5.5.4"), fingerprint_of=(REVERT, "WeightTransform"))
def with_names_of_the_hub(original: Callable[..., Any]) -> Callable[..., Any]:
    """Around the function that gives the weights the names under which they are saved."""

    def revert_weight_conversion(model: Any, *args: Any, **kwargs: Any) -> Any:
        weights = original(model, *args, **kwargs)
        prefix = ""
        own = args[0] if args else kwargs.get("state_dict", weights)
        if not is_of_the_library(type(model)) or any(name.startswith(MIXED) for name in own):
            return weights
        if is_checkpoint_of_a_trainer(_folder(sys._getframe(1))):
            return weights
        if any(name.startswith(MIXED) for name in weights):
            prefix = "model."
        elif getattr(model.config, "model_type", "") in _QWEN and any(name.startswith(_TEXT) for name in own):
            prefix = "model.visual."
        if not prefix:
            return weights
        return {name[len("model.") :] if name.startswith(prefix) else name: weight for name, weight in weights.items()}

    return revert_weight_conversion


def _folder(caller: Any) -> Any:
    """The folder in which `save_pretrained` saves a model, or an empty name."""
    is_saving = caller.f_code.co_name == "save_pretrained"
    return caller.f_locals.get("save_directory", "") if is_saving else ""


@FIX.recognises
def is_broken(function: ast.AST, *more: ast.AST) -> bool:
    """Whether it undoes renamings of a part of a name; before 5.4 and since 5.6 they concern the prefix."""
    return not occurs("PrefixChange", function) and occurs("process_source_pattern", *more)
